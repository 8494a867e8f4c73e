/** Validation of kinds with few rules: Leases, Events, Deployments and similar kinds. */
import { at, numberAt, textAt } from "../../../../platform/base/json.ts";
import { invalid, required, type StatusCause } from "../../../../crds/status_cause.ts";
import { checkNotNegative } from "./field_checks.ts";
import { checkPodTemplate, checkSelector, unselected } from "./pod.ts";

/** Rules of kind Lease. */
export function checkLease(lease: unknown): StatusCause[] {
  const seconds = numberAt(lease, "spec", "leaseDurationSeconds");
  return [
    ...(seconds !== undefined && seconds < 1
      ? [invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0")]
      : []),
    ...checkNotNegative(at(lease, "spec"), "spec", ["leaseTransitions"]),
  ];
}

/** Rules of kind Event of the core group: its namespace is that of the object. */
export function checkEvent(event: unknown): StatusCause[] {
  const about = textAt(event, "involvedObject", "namespace") ?? "";
  const own = textAt(event, "metadata", "namespace") ?? "";
  // Events of cluster-scoped objects are in `default`.
  const where = about === "" ? "default" : about;
  if (where === own || (about === "" && own === "kube-system")) return [];
  return [invalid("involvedObject.namespace", about, "does not match event.namespace")];
}

const NOT_NEGATIVE = ["replicas", "minReadySeconds", "revisionHistoryLimit"];

/** Rules of kinds Deployment, ReplicaSet, StatefulSet and DaemonSet. */
export function checkWorkload(object: unknown): StatusCause[] {
  const selected = at(object, "spec", "selector") === undefined
    ? [required("spec.selector"), unselected(object)]
    : checkSelector(object);
  return [
    ...checkNotNegative(at(object, "spec"), "spec", NOT_NEGATIVE),
    ...selected,
    ...checkPodTemplate(at(object, "spec", "template"), "spec.template"),
  ];
}
