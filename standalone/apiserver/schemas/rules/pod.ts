/** Validation of pods and pod templates, and the immutable fields of pods. */
import {
  asObjects,
  at,
  type JsonObject,
  objectAt,
  sameJson,
  textAt,
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
import { checkLabels, checkMetadata } from "./metadata.ts";
import { dnsLabel, dnsSubdomain } from "../../../../crds/name_syntax.ts";
import { checkVolumes } from "./volumes.ts";

/** Checks a pod's spec at the path. */
function checkPodSpec(spec: unknown, path: string): StatusCause[] {
  const volumes = new Set<string>();
  const names = new Set<string>();
  const volumeCauses = checkVolumes(at(spec, "volumes"), under(path, "volumes"), volumes);
  const containers = asObjects(at(spec, "containers"));
  return [
    ...volumeCauses,
    ...(containers.length === 0 ? [required(under(path, "containers"))] : []),
    ...checkContainers(containers, under(path, "containers"), volumes, names),
    ...checkContainers(
      at(spec, "initContainers"),
      under(path, "initContainers"),
      volumes,
      names,
    ),
    ...checkScalars(spec, path),
    ...checkLabels(at(spec, "nodeSelector"), under(path, "nodeSelector")),
  ];
}

function checkScalars(spec: unknown, path: string): StatusCause[] {
  const causes: StatusCause[] = [];
  const account = textAt(spec, "serviceAccountName") ?? "";
  if (account !== "") {
    causes.push(
      ...dnsSubdomain(account).map((it) => invalid(under(path, "serviceAccountName"), account, it)),
    );
  }
  for (const key of ["hostname", "subdomain"]) {
    const name = textAt(spec, key) ?? "";
    if (name !== "") {
      causes.push(...dnsLabel(name).map((problem) => invalid(under(path, key), name, problem)));
    }
  }
  const deadline = at(spec, "activeDeadlineSeconds");
  if (typeof deadline === "number" && (deadline < 1 || deadline > 2 ** 31 - 1)) {
    causes.push(
      invalid(
        under(path, "activeDeadlineSeconds"),
        deadline,
        "must be between 1 and 2147483647, inclusive",
      ),
    );
  }
  return causes;
}

/** Checks the labels and spec of a template. */
export function checkPodTemplate(template: unknown, path: string): StatusCause[] {
  return [
    ...checkLabels(at(template, "metadata", "labels"), under(under(path, "metadata"), "labels")),
    ...checkPodSpec(at(template, "spec"), under(path, "spec")),
  ];
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
  const causes = [...checkMetadata(at(pod, "metadata")), ...checkPodSpec(at(pod, "spec"), "spec")];
  return old === undefined ? causes : [...causes, ...checkPodUpdate(pod, old)];
}

/** Checks the restart policy of a Job's pods. */
export function checkJobRestartPolicy(template: unknown, path: string): StatusCause[] {
  const field = under(under(path, "spec"), "restartPolicy");
  const policy = textAt(template, "spec", "restartPolicy") ?? "";
  if (policy === "") return [required(field, 'valid values: "OnFailure", "Never"')];
  if (policy === "OnFailure" || policy === "Never") return [];
  // Always is the default of a template without a policy.
  return policy === "Always"
    ? [required(field, 'valid values: "OnFailure", "Never"')]
    : [unsupported(field, policy, ["OnFailure", "Never"])];
}
