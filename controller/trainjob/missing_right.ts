/** Messages about rights to children that the manager lacks. */
import { KINDS } from "../../crds/kinds.ts";
import { POLICY_SECRETS } from "../../crds/names.ts";
import type { Kind } from "../../platform/kube/resource.ts";

/** Returns what to do so that the manager may read and create children of the kind. */
export function rightToGrant(
  { group, plural }: Kind<unknown>,
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
