/** Facts of the kubelet's node, from its machine and its options. */
import { statfsSync } from "node:fs";
import { NODES } from "../../crds/pod_names.ts";
import type { KubeletOptions } from "./kubelet_options.ts";
import { hostAddress } from "./machine.ts";
import { type MachineFacts, nodeLabels } from "./node_status.ts";
import type { NodeOffer } from "./scheduler.ts";

/** Reads the facts of this machine, whose pods are in that folder. */
export function machineFacts(options: KubeletOptions, folder: string): MachineFacts {
  const { blocks, bsize } = statfsSync(folder);
  return {
    name: options.nodeName,
    hostIP: options.hostIP ?? hostAddress(),
    cpu: navigator.hardwareConcurrency,
    memoryBytes: Deno.systemMemoryInfo().total,
    diskBytes: blocks * bsize,
    mostPods: 110,
    gpus: options.gpus?.length,
    endpointPort: options.endpointPort,
    version: "v1.36.0-milepost",
  };
}

/** Returns the node of a machine as a scheduler needs it. */
export function nodeOffer(facts: MachineFacts): NodeOffer {
  const { name, mostPods, gpus = 0 } = facts;
  return { name, labels: nodeLabels(facts), resources: new Map([[NODES.gpu, gpus]]), mostPods };
}
