/** Messages about rights to children that the manager lacks. */
import { KINDS } from "../../crds/kinds.ts";
import { POLICY_SECRETS } from "../../crds/names.ts";
import type { KubeError } from "../../kube/errors.ts";
import type { ResourceKind } from "../../kube/resource.ts";

/** The API server's words if RBAC refuses a request; an admission's refusal reads differently. */
const RBAC_REFUSAL = /^\S+( "[^"]*")? is forbidden: User "[^"]*" cannot \w+ resource /;

/** Reports whether the API server refused a request for want of a right. */
export function lacksRight({ code, message }: KubeError): boolean {
  return code === 403 && RBAC_REFUSAL.test(message);
}

/** Returns what to do so that the manager may read and create children of the kind. */
export function rightToGrant(
  { group, plural }: ResourceKind<unknown>,
  managerName: string,
): string {
  if (group === KINDS.secret.group && plural === KINDS.secret.plural) {
    const { role, helmValue } = POLICY_SECRETS;
    return `bind the ClusterRole ${managerName}-${role} to the manager's service account ` +
      `(Helm: ${helmValue}=true)`;
  }
  const resource = group === "" ? plural : `${plural}.${group}`;
  return `grant the manager get and create on ${resource}`;
}
