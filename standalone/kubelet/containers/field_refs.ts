/** Values of fieldRef and resourceFieldRef (the downward API). Pure. */
import type { Container, Pod } from "../../../platform/kube/kubernetes.ts";
import { divideQuantities, parseQuantity, type Quantity } from "../../../platform/base/quantity.ts";

/** A reference that cannot be followed: the container waits with this message. */
export class ConfigProblem extends Error {
  override name = "ConfigProblem";
}

/** Facts of the downward API beside the pod itself. */
export interface PodFacts {
  /** The pod's address as its own processes must see it. */
  readonly podIP: string;
  readonly hostIP: string;
  readonly nodeName: string;
  /** The values of resourceFieldRef by resource if the container sets no limit: cores, and bytes. */
  readonly allocatable: Readonly<Record<string, number>>;
}

/** One line of a downwardAPI file: `key="value"`, with the value quoted as Go does. */
function mapLines(map: Record<string, string> | undefined): string {
  return Object.entries(map ?? {})
    .sort(([a], [b]) => a < b ? -1 : 1)
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join("\n");
}

/** The parts of a pod that may be named, by their path. */
const FIELDS: Readonly<Record<string, (pod: Pod, facts: PodFacts) => string | undefined>> = {
  "metadata.name": ({ metadata }) => metadata?.name,
  "metadata.namespace": ({ metadata }) => metadata?.namespace,
  "metadata.uid": ({ metadata }) => metadata?.uid,
  "metadata.labels": ({ metadata }) => mapLines(metadata?.labels),
  "metadata.annotations": ({ metadata }) => mapLines(metadata?.annotations),
  "spec.nodeName": (_pod, { nodeName }) => nodeName,
  "spec.serviceAccountName": ({ spec }) => spec?.serviceAccountName || "default",
  "status.podIP": (_pod, { podIP }) => podIP,
  "status.podIPs": (_pod, { podIP }) => podIP,
  "status.hostIP": (_pod, { hostIP }) => hostIP,
  "status.hostIPs": (_pod, { hostIP }) => hostIP,
};

/** The part of the pod that a `fieldPath` names. Throws a {@link ConfigProblem} for an unknown path. */
export function readField(pod: Pod, fieldPath: string, facts: PodFacts): string {
  const [, list, key] = /^metadata\.(labels|annotations)\['([^']*)'\]$/.exec(fieldPath) ?? [];
  if (key !== undefined) {
    const map = list === "labels" ? pod.metadata?.labels : pod.metadata?.annotations;
    return map?.[key] ?? "";
  }
  const read = Object.hasOwn(FIELDS, fieldPath) ? FIELDS[fieldPath] : undefined;
  if (!read) throw new ConfigProblem(`fieldRef.fieldPath "${fieldPath}" is not supported`);
  return read(pod, facts) ?? "";
}

/** A resourceFieldRef, as env and downwardAPI files have it. */
export interface ResourceRef {
  readonly resource: string;
  readonly divisor?: string;
}

function quantity(text: string): Quantity {
  const parsed = parseQuantity(text);
  if (parsed) return parsed;
  throw new ConfigProblem(`"${text}" is not a quantity such as 500m, 2Gi or 1e3`);
}

/** How many times the divisor goes into the value, rounded up. A divisor of 0 counts as 1. */
function divided(value: string | number, divisor = "1"): string {
  const by = quantity(divisor);
  return `${divideQuantities(quantity(`${value}`), by.numerator === 0n ? quantity("1") : by)}`;
}

/** The container's limit or request, divided and rounded up. Throws a {@link ConfigProblem}. */
export function readResource(container: Container, ref: ResourceRef, facts: PodFacts): string {
  const [list, ...rest] = ref.resource.split(".");
  const name = rest.join(".");
  if ((list !== "limits" && list !== "requests") || name === "") {
    throw new ConfigProblem(`resourceFieldRef.resource "${ref.resource}" is not supported`);
  }
  const resources = container.resources;
  const text = list === "limits"
    ? resources?.limits?.[name]
    : resources?.requests?.[name] ?? resources?.limits?.[name];
  if (text !== undefined) return divided(text, ref.divisor);
  if (list === "requests") return "0";
  const whole = facts.allocatable[name];
  return whole === undefined ? "0" : divided(whole, ref.divisor);
}
