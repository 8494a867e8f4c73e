/** Validation of roles and bindings: complete rules, and an immutable role reference. */
import { asObjects, asTexts, at, sameJson, textAt } from "../../../../platform/base/json.ts";
import {
  invalid,
  required,
  type StatusCause,
  under,
  unsupported,
} from "../../../../crds/status_cause.ts";
import { checkMetadata } from "./metadata.ts";
import { pathSegment } from "../../../../crds/name_syntax.ts";

/** Rules of kinds Role and ClusterRole. */
export function checkRole(namespaced: boolean): (object: unknown) => StatusCause[] {
  return (object) => [
    ...checkMetadata(at(object, "metadata"), pathSegment),
    ...asObjects(at(object, "rules")).flatMap((rule, index) =>
      checkRule(rule, under("rules", index), namespaced)
    ),
  ];
}

function checkRule(rule: unknown, path: string, namespaced: boolean): StatusCause[] {
  const causes: StatusCause[] = [];
  if (asTexts(at(rule, "verbs")).length === 0) {
    causes.push(required(under(path, "verbs"), "verbs must contain at least one value"));
  }
  if (asTexts(at(rule, "nonResourceURLs")).length > 0) {
    if (namespaced) {
      causes.push(invalid(
        under(path, "nonResourceURLs"),
        at(rule, "nonResourceURLs"),
        "namespaced rules cannot apply to non-resource URLs",
      ));
    }
    return causes;
  }
  if (asTexts(at(rule, "apiGroups")).length === 0) {
    causes.push(
      required(under(path, "apiGroups"), "resource rules must supply at least one api group"),
    );
  }
  if (asTexts(at(rule, "resources")).length === 0) {
    causes.push(
      required(under(path, "resources"), "resource rules must supply at least one resource"),
    );
  }
  return causes;
}

/** Rules of kinds RoleBinding and ClusterRoleBinding. */
export function checkBinding(
  kinds: readonly string[],
): (object: unknown, old?: unknown) => StatusCause[] {
  return (object, old) => {
    const role = at(object, "roleRef");
    const causes = checkMetadata(at(object, "metadata"), pathSegment);
    const kind = textAt(role, "kind");
    if (kind === undefined || !kinds.includes(kind)) {
      causes.push(unsupported("roleRef.kind", kind, kinds));
    }
    if ((textAt(role, "name") ?? "") === "") causes.push(required("roleRef.name"));
    if (old !== undefined && !sameJson(role, at(old, "roleRef"))) {
      causes.push(invalid("roleRef", role, "cannot change roleRef"));
    }
    for (const [index, subject] of asObjects(at(object, "subjects")).entries()) {
      const here = under("subjects", index);
      if ((textAt(subject, "name") ?? "") === "") causes.push(required(under(here, "name")));
      if (
        subject.kind === "ServiceAccount" && kinds.length === 1 &&
        (textAt(subject, "namespace") ?? "") === ""
      ) {
        causes.push(required(under(here, "namespace")));
      }
    }
    return causes;
  };
}
