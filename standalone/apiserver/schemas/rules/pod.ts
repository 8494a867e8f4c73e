/** Validation of pods and pod templates, and the immutable fields of pods. */
import {
  asObjects,
  at,
  type JsonObject,
  objectAt,
  sameJson,
  textAt,
  textMapAt,
} from "../../../../platform/base/json.ts";
import {
  forbidden,
  invalid,
  required,
  type StatusCause,
  under,
  unsupported,
} from "../../../../crds/status_cause.ts";
import { checkContainers } from "./containers.ts";
import { checkRange, checkSyntax } from "./field_checks.ts";
import { checkLabels } from "./metadata.ts";
import { hasLabels } from "../../../../crds/label_selector.ts";
import { dnsLabel, dnsSubdomain } from "../../../../crds/name_syntax.ts";
import { checkVolumes } from "./volumes.ts";

/** Checks a pod's spec at the path. */
function checkPodSpec(spec: unknown, path: string): StatusCause[] {
  const volumes = new Set<string>();
  const volumeCauses = checkVolumes(spec, path, volumes);
  const isEmpty = asObjects(at(spec, "containers")).length === 0;
  return [
    ...volumeCauses,
    ...(isEmpty ? [required(under(path, "containers"))] : []),
    ...checkContainers(spec, path, volumes),
    ...checkScalars(spec, path),
    ...checkLabels(at(spec, "nodeSelector"), under(path, "nodeSelector")),
  ];
}

/** Syntax of the names that a pod's spec has. */
const NAMES = {
  serviceAccountName: dnsSubdomain,
  hostname: dnsLabel,
  subdomain: dnsLabel,
} as const;

function checkScalars(spec: unknown, path: string): StatusCause[] {
  const names = Object.entries(NAMES).flatMap(([key, syntax]) => {
    const name = textAt(spec, key) ?? "";
    return name === "" ? [] : checkSyntax(under(path, key), name, syntax);
  });
  const deadline = at(spec, "activeDeadlineSeconds");
  return [...names, ...checkRange(under(path, "activeDeadlineSeconds"), deadline, 1, 2 ** 31 - 1)];
}

/** Checks the labels and spec of a template. */
export function checkPodTemplate(template: unknown, path: string): StatusCause[] {
  return [
    ...checkLabels(at(template, "metadata", "labels"), under(under(path, "metadata"), "labels")),
    ...checkPodSpec(at(template, "spec"), under(path, "spec")),
  ];
}

/** Problem of an object whose selector does not select its own pods. */
export function unselected(object: unknown): StatusCause {
  const labels = textMapAt(object, "spec", "template", "metadata", "labels");
  const detail = "`selector` does not match template `labels`";
  return invalid("spec.template.metadata.labels", labels, detail);
}

/** Checks that the `matchLabels` of an object select the pods of its template. */
export function checkSelector(object: unknown): StatusCause[] {
  const labels = textMapAt(object, "spec", "template", "metadata", "labels");
  const wanted = textMapAt(object, "spec", "selector", "matchLabels");
  return hasLabels(labels, wanted) ? [] : [unselected(object)];
}

const CHANGES_ALLOWED =
  "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/** Returns the spec without its mutable fields. */
function fixedPart(spec: JsonObject): JsonObject {
  const withoutImage = (list: unknown) =>
    list === undefined ? undefined : asObjects(list).map((it) => ({ ...it, image: "" }));
  const {
    activeDeadlineSeconds: _deadline,
    tolerations: _tolerations,
    schedulingGates: _gates,
    nodeName: _node,
    ...rest
  } = spec;
  return {
    ...rest,
    containers: withoutImage(spec.containers),
    initContainers: withoutImage(spec.initContainers),
  };
}

function checkPodUpdate(pod: unknown, old: unknown): StatusCause[] {
  const spec = objectAt(pod, "spec");
  const before = objectAt(old, "spec");
  const causes: StatusCause[] = [];
  if (!sameJson(fixedPart(spec), fixedPart(before))) {
    causes.push(forbidden("spec", CHANGES_ALLOWED));
  }
  // A pod is bound once, by the scheduler or by its creator.
  if ((before.nodeName ?? "") !== "" && before.nodeName !== spec.nodeName) {
    causes.push(forbidden("spec", CHANGES_ALLOWED));
  }
  return causes;
}

/** Rules of kind Pod. */
export function checkPod(pod: unknown, old?: unknown): StatusCause[] {
  const causes = checkPodSpec(at(pod, "spec"), "spec");
  return old === undefined ? causes : [...causes, ...checkPodUpdate(pod, old)];
}

/** Checks the restart policy of a Job's pods. */
export function checkJobRestartPolicy(template: unknown, path: string): StatusCause[] {
  const field = under(under(path, "spec"), "restartPolicy");
  const policy = textAt(template, "spec", "restartPolicy") ?? "";
  if (policy === "OnFailure" || policy === "Never") return [];
  // Always is the default of a template without a policy.
  return policy === "" || policy === "Always"
    ? [required(field, 'valid values: "OnFailure", "Never"')]
    : [unsupported(field, policy, ["OnFailure", "Never"])];
}
