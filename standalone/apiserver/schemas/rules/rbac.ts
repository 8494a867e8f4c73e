/** Validation of roles and bindings: complete rules, and an immutable role reference. */
import { asTexts, at, sameJson, textAt } from "../../../../platform/base/json.ts";
import {
  invalid,
  required,
  type StatusCause,
  under,
  unsupported,
} from "../../../../crds/status_cause.ts";
import { checkItems, checkTexts } from "./field_checks.ts";

/** Rules of kinds Role and ClusterRole. */
export function checkRole(namespaced: boolean): (object: unknown) => StatusCause[] {
  return (object) =>
    checkItems(object, "", "rules", (rule, path) => checkRule(rule, path, namespaced));
}

function checkRule(rule: unknown, path: string, namespaced: boolean): StatusCause[] {
  const needed = (key: string, detail: string) =>
    asTexts(at(rule, key)).length === 0 ? [required(under(path, key), detail)] : [];
  const urls = at(rule, "nonResourceURLs");
  const detail = "namespaced rules cannot apply to non-resource URLs";
  return [
    ...needed("verbs", "verbs must contain at least one value"),
    ...(asTexts(urls).length === 0
      ? [
        ...needed("apiGroups", "resource rules must supply at least one api group"),
        ...needed("resources", "resource rules must supply at least one resource"),
      ]
      : namespaced
      ? [invalid(under(path, "nonResourceURLs"), urls, detail)]
      : []),
  ];
}

/** Rules of kinds RoleBinding and ClusterRoleBinding. */
export function checkBinding(
  kinds: readonly string[],
): (object: unknown, old?: unknown) => StatusCause[] {
  return (object, old) => {
    const role = at(object, "roleRef");
    const causes: StatusCause[] = [];
    const kind = textAt(role, "kind");
    if (kind === undefined || !kinds.includes(kind)) {
      causes.push(unsupported("roleRef.kind", kind, kinds));
    }
    causes.push(...checkTexts(role, "roleRef", "name"));
    if (old !== undefined && !sameJson(role, at(old, "roleRef"))) {
      causes.push(invalid("roleRef", role, "cannot change roleRef"));
    }
    const subjects = checkItems(object, "", "subjects", (subject, here) => {
      const isClusterWide = subject.kind === "ServiceAccount" && kinds.length === 1;
      return checkTexts(subject, here, "name", ...isClusterWide ? ["namespace"] : []);
    });
    return [...causes, ...subjects];
  };
}
