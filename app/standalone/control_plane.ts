/** The embedded control plane: API server, Job controller, scheduler and kubelet, without the manager. */
import { MANAGER } from "../../crds/names.ts";
import type { KubeClient, RequestReport } from "../../platform/kube/client.ts";
import { createClient } from "../../platform/kube/connection/connected_client.ts";
import { systemClock } from "../../platform/base/clock.ts";
import { ConfigurationError, messageOf } from "../../platform/kube/errors.ts";
import { createEventRecorder } from "../../platform/kube/events.ts";
import { inheritedEnvironment } from "../../standalone/kubelet/containers/inherited_environment.ts";
import { createInformer } from "../../platform/kube/watching/informer.ts";
import { connectionTo } from "../../platform/kube/connection/kubeconfig.ts";
import { JOB_KINDS } from "../../crds/job_kinds.ts";
import { KINDS } from "../../crds/kinds.ts";
import { NODES } from "../../crds/pod_names.ts";
import {
  type ApiServer,
  type ApiServerOptions,
  startApiServer,
} from "../../standalone/apiserver/api_server.ts";
import type { PodLogRequest } from "../../standalone/apiserver/operations/pod_logs.ts";
import { StatusError } from "../../standalone/apiserver/objects/status_error.ts";
import { createJobController, jobPodIndexes } from "../../standalone/jobs/job_controller.ts";
import { type Kubelet, startKubelet } from "../../standalone/kubelet/kubelet.ts";
import type { LogBounds } from "../../standalone/kubelet/logs/log_bounds.ts";
import { LogProblem } from "../../standalone/kubelet/logs/log_keys.ts";
import { findGpus } from "../../standalone/kubelet/gpus/discovery.ts";
import { type NodeOffer, runScheduler } from "../../standalone/kubelet/scheduler.ts";
import { provideCommand } from "../executable.ts";
import { portOfUrl, startAt } from "./last_port.ts";
import { installPrerequisites, LOG_KEEPER } from "./prerequisites.ts";
import { KUBELET_FOLDER, takeDataFolder } from "../../standalone/kubelet/data_folder.ts";
import { addToKubeconfig } from "../../standalone/kubeconfig/kubeconfig_file.ts";
import { exceptThisMachine } from "./local_requests.ts";

/** The one node. */
const NODE_NAME = "milepost";
const HOST = "127.0.0.1";
/** Of the logs of pods that have ended, by default. */
const LOG_BYTES = 4 * 2 ** 30;

/** How to start. */
export interface ControlPlaneOptions {
  /** Everything is kept here; in memory and a temporary folder without it. */
  readonly dataDir?: string;
  /** 0: a port that is free. */
  readonly port: number;
  /** Kubeconfig into which the control plane is merged while it runs; in the data folder without it. */
  readonly kubeconfig?: string;
  /** Whether pods are run. Default true. */
  readonly kubelet?: boolean;
  /** Whether pods inherit caches and proxies from this environment. Default true. */
  readonly inheritEnvironment?: boolean;
  /** Whether pods run in mount namespaces where this machine allows it. Default true. */
  readonly mountNamespaces?: boolean;
  /** Bounds of the logs of pods that have ended. Default: 4 GiB, of any age. */
  readonly logBounds?: { readonly [Name in keyof LogBounds]?: LogBounds[Name] | undefined };
  /** Signing key of its API server, PEM; generated at the first start without it. */
  readonly signingKey?: string;
  /** Called of each request of the manager's client. */
  readonly onManagerRequest?: (report: RequestReport) => void;
}

/** A control plane that runs. */
export type ControlPlane = Awaited<ReturnType<typeof startControlPlane>>;

/** The users that Milepost itself connects as, as Kubernetes names them, with tokens that are created at each start. */
function staticUsers() {
  const user = (name: string, ...groups: string[]) => ({
    token: crypto.randomUUID(),
    user: { name, groups },
  });
  const account = (namespace: string, name: string) =>
    user(
      `system:serviceaccount:${namespace}:${name}`,
      "system:serviceaccounts",
      `system:serviceaccounts:${namespace}`,
    );
  return {
    manager: account(MANAGER.namespace, MANAGER.name),
    jobController: account("kube-system", "job-controller"),
    scheduler: user("system:kube-scheduler"),
    logKeeper: user(LOG_KEEPER),
    kubelet: user(`system:node:${NODE_NAME}`, "system:nodes"),
  };
}

/** Pod logs of the API server, read from the kubelet. */
function readLogs(
  kubelet: Kubelet | undefined,
  { pod: { metadata }, container, options }: PodLogRequest,
): ReadableStream<Uint8Array> {
  if (kubelet === undefined) {
    throw new StatusError(501, "NotImplemented", "this standalone runs no pods, so it has no logs");
  }
  const { namespace, name = "", uid } = metadata ?? {};
  try {
    return kubelet.readLogs({ namespace, name, uid }, container, options);
  } catch (error) {
    if (!(error instanceof LogProblem)) throw error;
    const reason = error.code === 404 ? "NotFound" : "BadRequest";
    throw new StatusError(error.code, reason, error.message);
  }
}

/** Runs the Job controller until `signal` aborts. */
async function runJobs(client: KubeClient, signal: AbortSignal): Promise<void> {
  const clock = systemClock;
  const informers = {
    jobs: createInformer({ client, clock, kind: KINDS.job }),
    pods: createInformer({ client, clock, kind: KINDS.pod, indexes: jobPodIndexes }),
  };
  const events = createEventRecorder({ client, clock, component: "job-controller" });
  const controller = createJobController({
    client,
    informers,
    events,
    clock,
    random: Math.random,
  });
  await Promise.all([
    informers.jobs.run(signal),
    informers.pods.run(signal),
    controller.run(signal).finally(() => events.close()),
  ]);
}

/** Runs the scheduler until `signal` aborts. */
async function placePods(client: KubeClient, node: NodeOffer, signal: AbortSignal): Promise<void> {
  const clock = systemClock;
  const events = createEventRecorder({ client, clock, component: NODES.defaultScheduler });
  await runScheduler({ client, clock, node, events }, signal).finally(() => events.close());
}

/** Starts the API server; what can go wrong there, a taken port or a bad folder, is the user's to change. */
async function openApiServer(options: ApiServerOptions): Promise<ApiServer> {
  try {
    return await startApiServer(options);
  } catch (cause) {
    throw new ConfigurationError(messageOf(cause), { cause });
  }
}

/** Starts everything but the manager. Leaves nothing running if it throws. */
export async function startControlPlane(options: ControlPlaneOptions) {
  await using cleanup = new AsyncDisposableStack();
  exceptThisMachine();
  const folder = await takeDataFolder(options.dataDir);
  cleanup.defer(() => folder.release());
  const users = staticUsers();
  let kubelet: Kubelet | undefined;
  const startApi = (port: number) =>
    openApiServer({
      ...(folder.isTemporary ? {} : { dataDir: `${folder.path}/api` }),
      port,
      signingKey: options.signingKey,
      hostname: HOST,
      users: Object.values(users),
      gonePod: (namespace, name) => kubelet?.gonePod({ namespace, name }),
      podLogs: (request) => readLogs(kubelet, request),
      placeOfPod: (uid) => {
        const isMounted = kubelet !== undefined && kubelet.rewritingReason === undefined;
        return `${folder.path}/${KUBELET_FOLDER}/pods/${uid}, where \`volumes\` has its volumes` +
          (isMounted ? " (`nsenter -t PID -m`, as root, has them at their mount paths)" : "");
      },
    });
  // Whoever has the kubeconfig open goes on after a restart.
  const portFile = folder.isTemporary ? undefined : `${folder.path}/api-port`;
  const api = await startAt(options.port, portFile, startApi, portOfUrl);
  cleanup.defer(() => api.close());
  const clientAs = (token: string, onRequest?: (report: RequestReport) => void) =>
    createClient({
      connection: connectionTo({ server: api.url, caPem: api.caCertificate, token }),
      ...(onRequest === undefined ? {} : { onRequest }),
    });
  const client = clientAs(api.adminToken);
  await installPrerequisites(client);
  const kubeconfig = options.kubeconfig ?? `${folder.path}/kubeconfig`;
  cleanup.defer(
    await addToKubeconfig(kubeconfig, {
      server: api.url,
      caCertificate: api.caCertificate,
      token: api.adminToken,
    }),
  );

  const loops = new AbortController();
  const running: Promise<void>[] = [];
  cleanup.defer(async () => {
    loops.abort();
    await Promise.all(running);
  });
  running.push(runJobs(clientAs(users.jobController.token), loops.signal));
  if (options.kubelet ?? true) {
    const kubeletClient = clientAs(users.kubelet.token);
    const events = createEventRecorder({
      client: kubeletClient,
      clock: systemClock,
      component: "kubelet",
    });
    kubelet = await startKubelet({
      client: kubeletClient,
      apiServer: api.url,
      nodeName: NODE_NAME,
      dataDir: `${folder.path}/${KUBELET_FOLDER}`,
      claimsAreFolders: true,
      logKeeping: {
        client: clientAs(users.logKeeper.token),
        kinds: JOB_KINDS,
        bounds: {
          bytes: options.logBounds?.bytes ?? LOG_BYTES,
          ageMs: options.logBounds?.ageMs ?? 0,
        },
      },
      events,
      gpus: await findGpus(),
      mountNamespaces: options.mountNamespaces,
      environment: options.inheritEnvironment ?? true
        ? inheritedEnvironment(Deno.env.toObject())
        : {},
      provideCommand,
    });
    running.push(
      kubelet.run(loops.signal).finally(() => events.close()),
      placePods(clientAs(users.scheduler.token), kubelet.node, loops.signal),
    );
  }
  const started = cleanup.move();
  return {
    /** URL of the API server. */
    server: api.url,
    kubeconfig,
    /** Its data folder. */
    folder: folder.path,
    /** As the administrator. */
    client,
    /** The administrator's token. */
    adminToken: api.adminToken,
    /** The reason why mount paths and Service names of pods are rewritten; undefined if they are real. */
    rewritingReason: kubelet?.rewritingReason,
    /** As the manager's service account, with only its rights. */
    managerClient: clientAs(users.manager.token, options.onManagerRequest),
    stop: (): Promise<void> => started.disposeAsync(),
  };
}
