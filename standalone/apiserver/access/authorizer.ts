/** Authorization by the group system:masters, the node authorizer and RBAC. */
import { asObjects, at, textAt } from "../../../platform/base/json.ts";
import type { ApiObject } from "../objects/api_object.ts";
import { KEYS } from "../storage/resource_keys.ts";
import type { ObjectReader } from "../storage/store.ts";
import { nodeMay } from "./node_authorizer.ts";
import { parseRules, type PolicyRule, ruleAllows } from "./policy_rules.ts";
import type { Attributes, User } from "./user.ts";

/** Group whose members may do everything. */
const MASTERS_GROUP = "system:masters";

/** Decision about a request; the reason is meant for people. */
export interface Decision {
  readonly allowed: boolean;
  readonly reason: string;
}

/** Authorizes requests by the roles and bindings in the store. */
export type Authorizer = ReturnType<typeof createAuthorizer>;

const ALL: PolicyRule[] = [
  { verbs: ["*"], apiGroups: ["*"], resources: ["*"], resourceNames: [], nonResourceURLs: [] },
  { verbs: ["*"], apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: ["*"] },
];

/** Says if the subject of a binding is the user. */
function isSubject(subject: unknown, user: User, namespace: string | undefined): boolean {
  const name = textAt(subject, "name") ?? "";
  switch (textAt(subject, "kind")) {
    case "User":
      return name === user.name;
    case "Group":
      return user.groups.includes(name);
    case "ServiceAccount": {
      const where = textAt(subject, "namespace") || namespace;
      return user.name === `system:serviceaccount:${where}:${name}`;
    }
    default:
      return false;
  }
}

function subjectText(subject: unknown, namespace: string | undefined): string {
  const kind = textAt(subject, "kind") ?? "";
  const name = textAt(subject, "name") ?? "";
  if (kind !== "ServiceAccount") return `${kind} "${name}"`;
  return `${kind} "${name}/${textAt(subject, "namespace") || namespace}"`;
}

/** Creates an authorizer over the objects of the store. */
export function createAuthorizer(options: { store: ObjectReader }) {
  const { store } = options;

  function roleRules(roleRef: unknown, namespace: string | undefined): PolicyRule[] | undefined {
    const name = textAt(roleRef, "name") ?? "";
    const role = textAt(roleRef, "kind") === "ClusterRole"
      ? store.get(KEYS.clusterRoles, undefined, name)
      : store.get(KEYS.roles, namespace, name);
    return role === undefined ? undefined : parseRules(role.rules);
  }

  /** Yields the bindings that name the user, cluster-wide ones first. */
  function* bindingsOf(user: User, namespace: string | undefined): Generator<ApiObject> {
    const cluster = store.list(KEYS.clusterRoleBindings);
    const local = namespace ? store.list(KEYS.roleBindings, namespace) : [];
    for (const binding of [...cluster, ...local]) {
      const where = binding.metadata.namespace;
      const mine = asObjects(at(binding, "subjects")).some((it) => isSubject(it, user, where));
      if (mine) yield binding;
    }
  }

  function byRoles(user: User, attributes: Attributes): Decision {
    const namespace = "path" in attributes ? undefined : attributes.namespace;
    for (const binding of bindingsOf(user, namespace)) {
      const rules = roleRules(binding.roleRef, binding.metadata.namespace) ?? [];
      if (rules.some((rule) => ruleAllows(rule, attributes))) {
        const role = `${textAt(binding.roleRef, "kind")} "${textAt(binding.roleRef, "name")}"`;
        const { name, namespace: where } = binding.metadata;
        const title = where === undefined ? name : `${name}/${where}`;
        const subject = asObjects(at(binding, "subjects")).find((it) => isSubject(it, user, where));
        const reason = `RBAC: allowed by ${binding.kind} "${title}" of ${role} to ` +
          subjectText(subject, where);
        return { allowed: true, reason };
      }
    }
    return { allowed: false, reason: "" };
  }

  return {
    /** Returns the rules of a role that a binding in the namespace refers to; undefined if there is no such role. */
    roleRules,
    authorize(user: User, attributes: Attributes): Decision {
      if (user.groups.includes(MASTERS_GROUP)) return { allowed: true, reason: "" };
      if (nodeMay(user, attributes, store)) {
        return { allowed: true, reason: "allowed by the node authorizer" };
      }
      return byRoles(user, attributes);
    },
    /** Returns every rule that the user has in the namespace; without a namespace, the cluster-wide ones. */
    rulesOf(user: User, namespace: string | undefined): PolicyRule[] {
      if (user.groups.includes(MASTERS_GROUP)) return ALL;
      return [...bindingsOf(user, namespace)].flatMap((binding) =>
        roleRules(binding.roleRef, binding.metadata.namespace) ?? []
      );
    },
  };
}
