/** User of a conformance case, without permissions at first. */
import { until } from "../support/until.ts";
import type { Answer, RequestOptions, Sandbox } from "./api.ts";
import { object } from "./objects.ts";

const RBAC = "rbac.authorization.k8s.io/v1";
const GROUP = "rbac.authorization.k8s.io";
const ACCESS = "authorization.k8s.io/v1";

/** A user of the case's own, without rights of its own. */
export function somebody({ id }: Sandbox, groups: string[] = ["system:authenticated"]) {
  return { as: { user: `${id}-user`, groups } } satisfies RequestOptions;
}

/** Gives the case's user a Role with these rules, and waits until it holds. */
export async function grant(api: Sandbox, rules: Answer[], name = "r"): Promise<void> {
  await api.create(`${RBAC}/roles`, object(RBAC, "Role", name, { rules }));
  const subjects = [{ kind: "User", apiGroup: GROUP, name: `${api.id}-user` }];
  const roleRef = { apiGroup: GROUP, kind: "Role", name };
  await api.create(
    `${RBAC}/rolebindings`,
    object(RBAC, "RoleBinding", name, { roleRef, subjects }),
  );
  const [{ verbs: [verb], apiGroups: [group], resources: [resource], resourceNames }] = rules;
  const attributes = { verb, group, resource, name: resourceNames?.[0], namespace: api.ns };
  await until("the role to hold", async () => await may(api, attributes) || undefined);
}

/** Asks whether the case's user may do something. */
export async function may(api: Sandbox, attributes: Answer): Promise<boolean> {
  const spec = {
    user: `${api.id}-user`,
    groups: ["system:authenticated"],
    resourceAttributes: attributes,
  };
  const review = { apiVersion: ACCESS, kind: "SubjectAccessReview", spec };
  return (await api.create(`/apis/${ACCESS}/subjectaccessreviews`, review)).status.allowed;
}
