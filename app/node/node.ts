/** `milepost node`: only the kubelet, against any API server. */
import type { z } from "zod";
import type { KubeClient } from "../../platform/kube/client.ts";
import { createClient } from "../../platform/kube/connection/connected_client.ts";
import { issueCertificate } from "../../platform/base/certificates.ts";
import { systemClock } from "../../platform/base/clock.ts";
import { createEventRecorder } from "../../platform/kube/events.ts";
import { inheritedEnvironment } from "../../standalone/kubelet/containers/inherited_environment.ts";
import { loadKubeconfig } from "../../platform/kube/connection/kubeconfig.ts";
import { type Kubelet, startKubelet } from "../../standalone/kubelet/kubelet.ts";
import { findGpus } from "../../standalone/kubelet/gpus/discovery.ts";
import { createAccessCheck } from "../../standalone/kubelet/logs/log_access.ts";
import { LogProblem } from "../../standalone/kubelet/logs/log_keys.ts";
import type { Server } from "../../platform/http/server.ts";
import { startLogServer } from "../../standalone/kubelet/logs/log_server.ts";
import { hostAddress } from "../../standalone/kubelet/machine.ts";
import type { nodeSettings } from "../configuration/command_settings.ts";
import { provideCommand } from "../executable.ts";
import { certificateFiles, readCertificate, readFlagFile } from "../tls_files.ts";
import { KUBELET_FOLDER, takeDataFolder } from "../../standalone/kubelet/data_folder.ts";
import { exceptThisMachine } from "../standalone/local_requests.ts";

/** How to start, by the settings. */
export interface NodeOptions extends Omit<z.infer<typeof nodeSettings>, "logLevel"> {
  readonly nodeName: string;
}

/** Life of the log endpoint's own certificate, in milliseconds: a year. */
const CERTIFICATE_LIFE_MS = 365 * 24 * 60 * 60 * 1000;

async function certificateOf(options: NodeOptions, hostIP: string) {
  const files = certificateFiles(options);
  if (files !== undefined) return readCertificate(files);
  // Clients that verify kubelets need one that their own CA signed.
  const { certificate: cert, key } = await issueCertificate(undefined, {
    subject: "CN=milepost-kubelet",
    now: systemClock.now(),
    lifeMs: CERTIFICATE_LIFE_MS,
    hosts: [hostIP, options.nodeName],
  });
  return { cert, key };
}

/** Serves the logs of a kubelet that starts later, because the node reports the port from the start. */
async function serveLogs(
  options: NodeOptions,
  client: KubeClient,
  hostIP: string,
  kubelet: () => Kubelet | undefined,
): Promise<Server> {
  const { clientCa, nodeName } = options;
  return await startLogServer({
    hostname: hostIP,
    port: options.port,
    tls: {
      ...await certificateOf(options, hostIP),
      ...clientCa === undefined ? {} : { ca: readFlagFile("--client-ca", clientCa) },
    },
    clock: systemClock,
    checkAccess: createAccessCheck({ client, clock: systemClock, nodeName }),
    readLogs({ namespace, pod, container, options }) {
      const running = kubelet();
      if (running === undefined) throw new LogProblem("the kubelet is starting", 404);
      return running.readLogs({ namespace, name: pod }, container, options);
    },
  });
}

/** Registers and runs the node, to which the cluster's own scheduler binds pods. Its end ends their processes. */
export async function startNode(options: NodeOptions) {
  exceptThisMachine();
  const connection = loadKubeconfig(options.kubeconfig);
  const client = createClient({ connection });
  const events = createEventRecorder({ client, clock: systemClock, component: "kubelet" });
  const hostIP = hostAddress();
  let kubelet: Kubelet | undefined;
  await using cleanup = new AsyncDisposableStack();
  const folder = await takeDataFolder(options.dataDir);
  cleanup.defer(() => folder.release());
  const logs = await serveLogs(options, client, hostIP, () => kubelet);
  cleanup.defer(() => logs.close(0));
  cleanup.defer(() => events.close());
  const started = kubelet = await startKubelet({
    client,
    apiServer: connection.cluster.server,
    nodeName: options.nodeName,
    hostIP,
    endpointPort: logs.port,
    events,
    gpus: await findGpus(),
    mountNamespaces: options.mountNamespaces,
    environment: options.inheritEnvironment ? inheritedEnvironment(Deno.env.toObject()) : {},
    provideCommand,
    dataDir: folder.isTemporary ? `${folder.path}/${KUBELET_FOLDER}` : folder.path,
  });
  const loops = new AbortController();
  const running = started.run(loops.signal);
  cleanup.defer(async () => {
    loops.abort();
    await running;
  });
  const all = cleanup.move();
  return { stop: () => all.disposeAsync() };
}
