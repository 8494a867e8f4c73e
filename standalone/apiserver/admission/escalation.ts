/** Prevention of privilege escalation: a user may only grant permissions that it has. */
import { at, objectAt, sameJson, textAt } from "../../../platform/base/json.ts";
import { forbidden, notFound } from "../objects/status_error.ts";
import type { AdmissionRequest } from "./admission_request.ts";
import { RBAC_GROUP } from "../storage/resource_keys.ts";
import type { Authorizer } from "../access/authorizer.ts";
import { parseRules, type PolicyRule, ruleText, uncovered } from "../access/policy_rules.ts";

const ROLES = new Set(["Role", "ClusterRole"]);
const BINDINGS = new Set(["RoleBinding", "ClusterRoleBinding"]);

/**
 * Checks that a role, or the role of a binding, grants only permissions that its writer has, unless
 * the writer may `escalate` or `bind`. Throws a StatusError: 403, or 404 for a binding whose role
 * does not exist. Other kinds pass.
 */
export function checkEscalation(write: AdmissionRequest, authorizer: Authorizer): void {
  if (ROLES.has(write.kind.kind)) checkRole(write, authorizer);
  else if (BINDINGS.has(write.kind.kind)) checkBinding(write, authorizer);
}

function mayBypass(
  write: AdmissionRequest,
  authorizer: Authorizer,
  verb: string,
  resource: string,
  name: string,
): boolean {
  return authorizer.authorize(write.user, {
    verb,
    group: RBAC_GROUP,
    version: "v1",
    resource,
    namespace: write.namespace,
    name,
  }).allowed;
}

/** Says if a write changes only owners and finalizers, as the garbage collector does. */
function changesOwnersOnly({ object, oldObject }: AdmissionRequest): boolean {
  if (oldObject === undefined) return false;
  const others = (value: unknown) => {
    const {
      ownerReferences: _owners,
      finalizers: _finalizers,
      resourceVersion: _version,
      ...rest
    } = objectAt(value, "metadata");
    return { ...objectAt(value), metadata: rest };
  };
  return sameJson(others(object), others(oldObject));
}

function checkRole(write: AdmissionRequest, authorizer: Authorizer): void {
  const name = textAt(write.object, "metadata", "name") ?? "";
  if (changesOwnersOnly(write)) return;
  if (mayBypass(write, authorizer, "escalate", write.resource.resource, name)) return;
  refuseUncovered(write, authorizer, parseRules(at(write.object, "rules")));
}

function checkBinding(write: AdmissionRequest, authorizer: Authorizer): void {
  const roleRef = at(write.object, "roleRef");
  if (changesOwnersOnly(write)) return;
  const roleName = textAt(roleRef, "name") ?? "";
  const resource = textAt(roleRef, "kind") === "ClusterRole" ? "clusterroles" : "roles";
  if (mayBypass(write, authorizer, "bind", resource, roleName)) return;
  const rules = authorizer.roleRules(roleRef, write.namespace);
  if (rules === undefined) throw notFound({ group: RBAC_GROUP, resource }, roleName);
  refuseUncovered(write, authorizer, rules);
}

function refuseUncovered(
  write: AdmissionRequest,
  authorizer: Authorizer,
  wanted: readonly PolicyRule[],
): void {
  const lacking = uncovered(authorizer.rulesOf(write.user, write.namespace), wanted);
  if (lacking.length === 0) return;
  const { name, groups } = write.user;
  throw forbidden(
    write.resource,
    textAt(write.object, "metadata", "name") ?? "",
    `user "${name}" (groups=${JSON.stringify(groups)}) is attempting to grant RBAC permissions ` +
      `not currently held:\n${lacking.slice(0, 20).map(ruleText).join("\n")}`,
  );
}
