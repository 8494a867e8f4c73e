/** Validation of kinds with few rules: Leases, Events, Deployments and similar kinds. */
import { asTexts, at, textAt, textMapAt } from "../../../../platform/base/json.ts";
import { invalid, required, type StatusCause, under } from "../../../../crds/status_cause.ts";
import { checkMetadata } from "./metadata.ts";
import { checkPodTemplate } from "./pod.ts";

function below(object: unknown, key: string, least: number): StatusCause[] {
  const value = at(object, "spec", key);
  if (typeof value !== "number" || value >= least) return [];
  const wanted = least === 0 ? "greater than or equal to 0" : "greater than 0";
  return [invalid(under("spec", key), value, `must be ${wanted}`)];
}

/** Rules of kind Lease. */
export function checkLease(lease: unknown): StatusCause[] {
  return [
    ...checkMetadata(at(lease, "metadata")),
    ...below(lease, "leaseDurationSeconds", 1),
    ...below(lease, "leaseTransitions", 0),
  ];
}

/** Rules of kind Event of the core group: its namespace is that of the object. */
export function checkEvent(event: unknown): StatusCause[] {
  const causes = checkMetadata(at(event, "metadata"));
  const about = textAt(event, "involvedObject", "namespace") ?? "";
  const own = textAt(event, "metadata", "namespace") ?? "";
  // Events of cluster-scoped objects are in `default`.
  const where = about === "" ? "default" : about;
  if (where === own || (about === "" && own === "kube-system")) return causes;
  return [
    ...causes,
    invalid("involvedObject.namespace", about, "does not match event.namespace"),
  ];
}

/** Says if labels match `matchLabels`; a selector with expressions is not checked. */
function fits(selector: Record<string, string>, labels: Record<string, string>): boolean {
  return Object.entries(selector).every(([key, value]) => labels[key] === value);
}

/** Rules of kinds Deployment, ReplicaSet, StatefulSet and DaemonSet. */
export function checkWorkload(object: unknown): StatusCause[] {
  const causes = [
    ...checkMetadata(at(object, "metadata")),
    ...["replicas", "minReadySeconds", "revisionHistoryLimit"].flatMap((key) =>
      below(object, key, 0)
    ),
  ];
  const labels = textMapAt(object, "spec", "template", "metadata", "labels");
  const selector = textMapAt(object, "spec", "selector", "matchLabels");
  const expressions = asTexts(at(object, "spec", "selector", "matchExpressions"));
  const given = at(object, "spec", "selector") !== undefined;
  if (!given) causes.push(required("spec.selector"));
  const empty = Object.keys(selector).length === 0 && expressions.length === 0;
  if (!given || (!empty && !fits(selector, labels))) {
    const detail = "`selector` does not match template `labels`";
    causes.push(invalid("spec.template.metadata.labels", labels, detail));
  }
  return [...causes, ...checkPodTemplate(at(object, "spec", "template"), "spec.template")];
}
