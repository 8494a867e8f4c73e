/** Used and unused privileges of a user, from the API server's audit log. Pure. */
import type { PolicyRule } from "../../../platform/kube/kubernetes.ts";
import type { AuditEvent } from "../control_plane/audit.ts";

/** What one request asked for, as a rule of RBAC names it. */
export interface Use {
  readonly verb: string;
  readonly group: string;
  /** With its subresource. */
  readonly resource: string;
  readonly name: string | undefined;
  /** Instead of a resource. */
  readonly path: string | undefined;
}

/** Returns the privilege that a request asked for. */
export function useOf({ verb, objectRef, requestURI }: AuditEvent): Use {
  const { resource = "", subresource, apiGroup: group = "", name } = objectRef ?? {};
  const whole = subresource === undefined ? resource : `${resource}/${subresource}`;
  const path = objectRef === undefined ? requestURI.split("?")[0] : undefined;
  return { verb, group, resource: whole, name, path };
}

/** One privilege of a rule: the smallest thing that could be taken away. */
export interface Privilege extends Omit<Use, "name" | "path"> {
  /** Where a rule is limited to names. */
  readonly names: readonly string[] | undefined;
  readonly path: string | undefined;
}

/** A rule, privilege by privilege. */
export function privilegesOf(rule: PolicyRule): Privilege[] {
  const { apiGroups = [], resources = [], nonResourceURLs = [], resourceNames, verbs } = rule;
  const ofResources = apiGroups.flatMap((group) =>
    resources.flatMap((resource) =>
      verbs.map((verb) => ({ verb, group, resource, names: resourceNames, path: undefined }))
    )
  );
  const ofPaths = nonResourceURLs.flatMap((path) =>
    verbs.map((verb) => ({ verb, group: "", resource: "", names: undefined, path }))
  );
  return [...ofResources, ...ofPaths];
}

/** Whether the privilege is what allowed the use. */
export function allows(privilege: Privilege, use: Use): boolean {
  if (privilege.verb !== use.verb || privilege.path !== use.path) return false;
  if (privilege.group !== use.group || privilege.resource !== use.resource) return false;
  return privilege.names === undefined ||
    (use.name !== undefined && privilege.names.includes(use.name));
}

/** `patch jobs.batch`, for people. */
export function textOf({ verb, group, resource, path }: Privilege | Use): string {
  if (path !== undefined) return `${verb} ${path}`;
  return `${verb} ${resource}${group === "" ? "" : `.${group}`}`;
}
