/** Wait of a job in words: what its pods wait for, and how many of them. Pure. */
import { NODES } from "../../crds/pod_names.ts";
import type { ShownEvent, ShownPod, WaitWords } from "../../crds/wire/details.ts";
import { compareQuantities, parseQuantity } from "../../platform/base/quantity.ts";
import type { Node } from "../../platform/kube/kubernetes.ts";

/** The node of a cluster that has no other one. */
export interface OnlyNode {
  readonly name: string;
  /** Whether it is the machine on which `standalone` runs. */
  readonly isThisMachine: boolean;
  readonly allocatable: Readonly<Record<string, string>>;
}

/** Returns of a node what a wait in its cluster may say of it. */
export function onlyNodeOf({ metadata, status }: Node): OnlyNode {
  return {
    name: metadata?.name ?? "",
    isThisMachine: status?.nodeInfo?.containerRuntimeVersion === NODES.processRuntime,
    allocatable: status?.allocatable ?? {},
  };
}

/** That the only node of a cluster has too little left, and nothing else. */
const ONLY_NODE_LACKS = /^0\/1 nodes are available: 1 Insufficient \S+(, 1 Insufficient \S+)*$/;

/** Returns whether the pods wait for resources of the one node that their cluster has. */
export const waitsForOnlyNode = (pods: readonly ShownPod[]): boolean =>
  pods.some(({ waits }) => ONLY_NODE_LACKS.test(waits?.why ?? ""));

function isLess(one: string, other: string): boolean {
  const [a, b] = [parseQuantity(one), parseQuantity(other)];
  return a !== undefined && b !== undefined && compareQuantities(a, b) < 0;
}

/** What the only node has of the resources that are lacking. */
function nodeWords(lacks: Readonly<Record<string, string>>, node: OnlyNode): string {
  const where = node.isThisMachine ? "this machine" : `the node ${node.name}`;
  const names = Object.keys(lacks);
  const has = (name: string) => node.allocatable[name] ?? "0";
  const amounts = names.map((name) => names.length === 1 ? has(name) : `${has(name)} ${name}`);
  const isTaken = names.every((name) => !isLess(has(name), lacks[name] ?? "0"));
  return `; ${where} has ${amounts.join(" and ")}${isTaken ? ", and other pods use them" : ""}`;
}

function wordsOf({ for: what, why = "", lacks }: WaitWords, node: OnlyNode | undefined): string {
  if (node !== undefined && lacks !== undefined && ONLY_NODE_LACKS.test(why)) {
    return what + nodeWords(lacks, node);
  }
  return why === "" ? what : `${what}: ${why}`;
}

/** What a pod with a node waits for, by the newest warning about it: the pod itself says nothing of volumes. */
function warnedWait({ name, node, phase }: ShownPod, events: readonly ShownEvent[]) {
  if (phase !== "Pending" || node === undefined) return undefined;
  const event = events.find(({ object, type }) => object === `Pod/${name}` && type === "Warning");
  if (event === undefined) return undefined;
  const what = /Mount|Attach|Volume/.test(event.reason)
    ? "its volumes"
    : `node ${node} to start it`;
  return { for: what, why: event.message };
}

const hasEnded = ({ phase }: ShownPod) => phase === "Succeeded" || phase === "Failed";

/**
 * Returns what most of the waiting pods wait for, such as `2 of 4 pods wait for 1 nvidia.com/gpu; this machine has 0`;
 * undefined if none says so. Of the events the newest is the first.
 */
export function waitOfJob(
  pods: readonly ShownPod[],
  events: readonly ShownEvent[],
  node?: OnlyNode,
): string | undefined {
  const present = pods.filter((pod) => !pod.deleting && !hasEnded(pod));
  const counts = new Map<string, number>();
  for (const pod of present) {
    const waits = pod.waits ?? warnedWait(pod, events);
    if (waits === undefined) continue;
    const words = wordsOf(waits, node);
    counts.set(words, (counts.get(words) ?? 0) + 1);
  }
  const [most] = [...counts].sort(([, one], [, other]) => other - one);
  if (most === undefined) return undefined;
  const [words, count] = most;
  if (present.length === 1) return `waits for ${words}`;
  return `${count} of ${present.length} pods ${count === 1 ? "waits" : "wait"} for ${words}`;
}
