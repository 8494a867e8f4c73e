/** Messages about rights to children that the manager lacks. */
import { KINDS } from "../../crds/kinds.ts";
import { POLICY_SECRETS, RESTARTS } from "../../crds/names.ts";
import type { Kind } from "../../platform/kube/resource.ts";

/** Rights that have roles of their own, by the kinds that they are to. */
const ROLES = [[KINDS.secret, POLICY_SECRETS], [KINDS.job, RESTARTS]] as const;

/** Returns what to do so that the manager may read and create children of the kind, or delete Jobs. */
export function rightToGrant(
  { group, plural }: Kind<unknown>,
  managerName: string,
): string {
  const [, right] = ROLES.find(([kind]) => kind.group === group && kind.plural === plural) ?? [];
  if (right !== undefined) {
    const { role, helmValue } = right;
    return `bind the ClusterRole ${managerName}-${role} to the manager's service account ` +
      `(Helm: ${helmValue}=true)`;
  }
  const resource = group === "" ? plural : `${plural}.${group}`;
  return `grant the manager get and create on ${resource}`;
}
