/** `node`: the kubelet alone, against any API server. */
import { createClient } from "../kube/client.ts";
import { systemClock } from "../kube/clock.ts";
import { createEventRecorder } from "../kube/events.ts";
import { loadKubeconfig } from "../kube/kubeconfig.ts";
import { startKubelet } from "../standalone/kubelet/kubelet.ts";

/** How to start. */
export interface NodeOptions {
  readonly kubeconfig: string;
  readonly nodeName: string;
  /** Where pods' folders are kept; a temporary folder without it. */
  readonly dataDir?: string;
}

/** A node that runs the pods that are bound to it. */
export interface RunningNode {
  /** Ends its pods' processes. */
  stop(): Promise<void>;
}

/** Registers the node and begins. The cluster's own scheduler binds pods to it. */
export async function startNode(options: NodeOptions): Promise<RunningNode> {
  const client = createClient({ connection: loadKubeconfig(options.kubeconfig) });
  const events = createEventRecorder({ client, clock: systemClock, component: "kubelet" });
  const kubelet = await startKubelet({
    client,
    nodeName: options.nodeName,
    events,
    ...(options.dataDir === undefined ? {} : { dataDir: options.dataDir }),
  });
  const loops = new AbortController();
  const running = Promise.all([events.run(loops.signal), kubelet.run(loops.signal)]);
  return {
    async stop() {
      loops.abort();
      await running;
    },
  };
}
