/** Upstream's Trainer v2.3.0, with which Milepost is compared: its CRDs, webhooks and controller. */
import { freePort } from "../../support/free_port.ts";
import type { ControlPlane } from "../control_plane/control_plane.ts";
import { createDaemon, type Daemon } from "../control_plane/daemon.ts";
import { moduleFolder, programs } from "../control_plane/programs.ts";
import { install } from "./answers.ts";
import { loopbackWebhooks, readManifests } from "./loopback_webhooks.ts";

const MODULE = "trainer";
const PROGRAM = "trainer-controller-manager";
const GO_MODULE = "github.com/kubeflow/trainer/v2";

/** Additions of upstream's kustomization to the generated configurations. */
const OVERLAY = {
  names: {
    MutatingWebhookConfiguration: "defaulter.trainer.kubeflow.org",
    ValidatingWebhookConfiguration: "validator.trainer.kubeflow.org",
  },
  objectSelectors: Object.fromEntries(
    ["clustertrainingruntime", "trainingruntime"].map((kind) => [
      `validator.${kind}.trainer.kubeflow.org`,
      {
        matchExpressions: [{
          key: "trainer.kubeflow.org/webhook-validation",
          operator: "NotIn",
          values: ["disabled"],
        }],
      },
    ]),
  ),
};

/** Its endpoint for progress, which is off as it is shipped. */
export interface UpstreamStatusServer {
  readonly port: number;
  /** Writes to the API server a second, and at once; as shipped 5 and 10. */
  readonly qps: number;
  readonly burst: number;
}

/** Options of its start. */
export interface UpstreamOptions {
  readonly statusServer?: UpstreamStatusServer;
  /** Whether its CRDs and webhooks are installed. Default true. */
  readonly installs?: boolean;
}

/** Its settings as shipped, but for ports, limits of its client, and certificates, which we make. */
function configuration(
  ports: { health: number; webhook: number },
  { statusServer }: UpstreamOptions,
) {
  return {
    ...statusServer === undefined ? {} : { statusServer, featureGates: { TrainJobStatus: true } },
    apiVersion: "config.trainer.kubeflow.org/v1alpha1",
    kind: "Configuration",
    health: { healthProbeBindAddress: `127.0.0.1:${ports.health}` },
    metrics: { bindAddress: "0", secureServing: false },
    webhook: { port: ports.webhook, host: "127.0.0.1" },
    leaderElection: {
      leaderElect: false,
      resourceLock: "leases",
      resourceName: "trainer.kubeflow.org",
      resourceNamespace: "kubeflow-system",
      leaseDuration: "15s",
      renewDeadline: "10s",
      retryPeriod: "2s",
    },
    controller: { groupKindConcurrency: { "TrainJob.trainer.kubeflow.org": 5 } },
    certManagement: { enable: false },
    clientConnection: { qps: 500, burst: 1000 },
  };
}

/** The folder of upstream's sources, with its manifests. */
export function upstreamTrainerSources(): Promise<string> {
  return moduleFolder(MODULE, GO_MODULE);
}

async function installCrds(plane: ControlPlane, base: string): Promise<void> {
  for (const plural of ["trainjobs", "trainingruntimes", "clustertrainingruntimes"]) {
    const file = `${base}/crds/trainer.kubeflow.org_${plural}.yaml`;
    await install(plane.client, await readManifests(file));
  }
}

/**
 * Its status server reads the issuer from the token of a pod, and its certificate, at fixed places
 * of the file system: the program gets mounts of its own that have them there.
 */
async function withTokenOfPod(plane: ControlPlane, folder: string, command: readonly string[]) {
  const payload = btoa(JSON.stringify({ iss: plane.server })).replace(/=+$/, "");
  await Deno.writeTextFile(`${folder}/token`, `e30.${payload}.`);
  const place = "/run/secrets/kubernetes.io/serviceaccount";
  const serving = "k8s-webhook-server";
  const script = `mount -t tmpfs tmpfs /run && mkdir -p ${place} /tmp/${serving} && ` +
    `cp "$0/token" ${place}/token && mount --bind "$0/${serving}" /tmp/${serving} && exec "$@"`;
  return [
    "unshare",
    "--map-root-user",
    "--mount",
    "--",
    "sh",
    "-c",
    script,
    folder,
    ...command,
  ];
}

/**
 * Installs and starts it; resolves once its webhooks serve. It ends with `stop()` of what is
 * answered.
 */
export async function startUpstreamTrainer(
  plane: ControlPlane,
  options: UpstreamOptions = {},
): Promise<Daemon> {
  const program = (await programs(MODULE))[PROGRAM] ?? PROGRAM;
  const base = `${await upstreamTrainerSources()}/manifests/base`;
  const ports = { health: freePort(), webhook: freePort() };
  const folder = `${plane.folder}/upstream-trainer`;
  // It looks for its certificate in a fixed place of the folder for temporary files.
  const certificates = `${folder}/k8s-webhook-server/serving-certs`;
  await Deno.mkdir(certificates, { recursive: true });
  const { cert, key } = await plane.ca.server("upstream-trainer", ["127.0.0.1"]);
  await Deno.writeTextFile(`${certificates}/tls.crt`, cert);
  await Deno.writeTextFile(`${certificates}/tls.key`, key);
  await Deno.writeTextFile(`${folder}/config.yaml`, JSON.stringify(configuration(ports, options)));

  if (options.installs ?? true) await installCrds(plane, base);
  const shipped = [program, `--config=${folder}/config.yaml`, "--zap-log-level=2"];
  const [first = program, ...args] = options.statusServer === undefined
    ? shipped.slice(0, 2)
    : await withTokenOfPod(plane, folder, shipped);
  const daemon = createDaemon({
    name: PROGRAM,
    program: first,
    args,
    env: { KUBECONFIG: plane.kubeconfig, TMPDIR: folder },
    logFile: `${plane.folder}/${PROGRAM}.log`,
    isReady: async () => {
      const answer = await fetch(`http://127.0.0.1:${ports.health}/readyz`);
      await answer.body?.cancel();
      return answer.ok;
    },
  });
  await daemon.start();
  if (!(options.installs ?? true)) return daemon;
  const target = { port: ports.webhook, caPem: plane.ca.cert };
  await install(
    plane.client,
    await loopbackWebhooks(`${base}/webhook/manifests.yaml`, target, OVERLAY),
  );
  return daemon;
}
