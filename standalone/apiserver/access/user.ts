/** User and attributes of a request, as authorization sees them. */

/** Sender of a request. */
export interface User {
  readonly name: string;
  readonly uid?: string;
  readonly groups: string[];
  readonly extra?: Record<string, string[]>;
}

/** Group of every user who has proved who they are. */
export const AUTHENTICATED = "system:authenticated";

/** Returns the name and the groups of a service account. */
export function serviceAccountUser(namespace: string, name: string): User {
  return {
    name: `system:serviceaccount:${namespace}:${name}`,
    groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, AUTHENTICATED],
  };
}

/** Returns a user as `UserInfo` of authentication.k8s.io. */
export function userInfo({ name, uid, groups, extra }: User) {
  return {
    username: name,
    ...(uid !== undefined && { uid }),
    groups,
    ...(extra !== undefined && { extra }),
  };
}

/** Action on a resource. */
export interface ResourceAttributes {
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  /** Plural name. */
  readonly resource: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
}

/** Action on another path, such as discovery. */
export interface PathAttributes {
  readonly verb: string;
  readonly path: string;
}

/** Action that a request asks for. */
export type Attributes = ResourceAttributes | PathAttributes;
