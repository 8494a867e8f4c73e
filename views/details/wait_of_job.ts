/** Wait of a job in words: what its pods wait for, and how many of them. Pure. */
import { isEndedPhase, NODES } from "../../crds/pod_names.ts";
import type { ShownEvent, ShownPod, WaitWords } from "../../crds/wire/details.ts";
import { compareQuantities, parseQuantity } from "../../platform/base/quantity.ts";
import type { Node } from "../../platform/kube/kubernetes.ts";

/** What a node offers. */
export type Offer = Readonly<Record<string, string>>;

/** Returns what this machine offers, if the node is that of `standalone`. */
export const offerOfMachine = ({ status }: Node): Offer | undefined =>
  status?.nodeInfo?.containerRuntimeVersion === NODES.processRuntime
    ? status.allocatable ?? {}
    : undefined;

/** That the only node of a cluster has too little left, and nothing else. */
const ONLY_NODE_LACKS = /^0\/1 nodes are available: 1 Insufficient \S+(, 1 Insufficient \S+)*$/;

/** Returns whether the pods wait for resources of the one node that their cluster has. */
export const waitsForOnlyNode = (pods: readonly ShownPod[]): boolean =>
  pods.some(({ waits }) => ONLY_NODE_LACKS.test(waits?.why ?? ""));

function isEnough(has: string, asked: string): boolean {
  const [a, b] = [parseQuantity(has), parseQuantity(asked)];
  return a !== undefined && b !== undefined && compareQuantities(a, b) >= 0;
}

function wordsOf({ for: what, why = "", lacks = {} }: WaitWords, machine?: Offer): string {
  if (machine === undefined || !ONLY_NODE_LACKS.test(why)) return why ? `${what}: ${why}` : what;
  const all = Object.entries(lacks).map(([name, asked]) => ({
    name,
    has: machine[name] ?? "0",
    asked,
  }));
  const amounts = all.map(({ name, has }) => all.length === 1 ? has : `${has} ${name}`);
  const areTaken = all.every(({ has, asked }) => isEnough(has, asked));
  const taken = areTaken ? ", and other pods use them" : "";
  return `${what}; this machine has ${amounts.join(" and ")}${taken}`;
}

/** Returns whether a pod with a node waits for what it does not say, such as volumes. */
export const isWaitUntold = ({ waits, node, phase }: ShownPod): boolean =>
  waits === undefined && phase === "Pending" && node !== undefined;

/** What such a pod waits for, by the newest warning about it. */
function warnedWait(pod: ShownPod, events: readonly ShownEvent[]) {
  if (!isWaitUntold(pod)) return undefined;
  const { name, node } = pod;
  const event = events.find(({ object, type }) => object === `Pod/${name}` && type === "Warning");
  if (event === undefined) return undefined;
  const what = /Mount|Attach|Volume/.test(event.reason)
    ? "its volumes"
    : `node ${node} to start it`;
  return { for: what, why: event.message };
}

/**
 * Returns what most of the waiting pods wait for, such as `2 of 4 pods wait for 1 nvidia.com/gpu; this machine has 0`;
 * undefined if none says so. Of the events the newest is the first.
 */
export function waitOfJob(
  pods: readonly ShownPod[],
  events: readonly ShownEvent[],
  machine?: Offer,
): string | undefined {
  const present = pods.filter((pod) => !pod.deleting && !isEndedPhase(pod.phase));
  const counts = new Map<string, number>();
  for (const pod of present) {
    const waits = pod.waits ?? warnedWait(pod, events);
    if (waits === undefined) continue;
    const words = wordsOf(waits, machine);
    counts.set(words, (counts.get(words) ?? 0) + 1);
  }
  const [most] = [...counts].sort(([, one], [, other]) => other - one);
  if (most === undefined) return undefined;
  const [words, count] = most;
  if (present.length === 1) return `waits for ${words}`;
  return `${count} of ${present.length} pods ${count === 1 ? "waits" : "wait"} for ${words}`;
}
