/** `kubectl --as`: acting as another user, for those who may. */
import { badRequest, StatusError } from "../objects/status_error.ts";
import type { Authorizer } from "./authorizer.ts";
import type { User } from "./user.ts";

const SERVICE_ACCOUNT = /^system:serviceaccount:([^:]+):([^:]+)$/;
const AUTHENTICATED = "system:authenticated";

function impliedGroups(name: string): string[] {
  const namespace = SERVICE_ACCOUNT.exec(name)?.[1];
  if (namespace === undefined) return [];
  return ["system:serviceaccounts", `system:serviceaccounts:${namespace}`];
}

function check(authorizer: Authorizer, user: User, resource: string, name: string): void {
  const { allowed } = authorizer.authorize(user, {
    verb: "impersonate",
    group: "",
    version: "v1",
    resource,
    name,
  });
  if (allowed) return;
  const message = `${resource} "${name}" is forbidden: User "${user.name}" cannot impersonate ` +
    `resource "${resource}" in API group "" at the cluster scope`;
  throw new StatusError(403, "Forbidden", message, { name, kind: resource });
}

/** The user that a request is to be answered as: its own, or the one it names. Throws 400 and 403. */
export function effectiveUser(authorizer: Authorizer, user: User, headers: Headers): User {
  const name = headers.get("impersonate-user");
  const groups = (headers.get("impersonate-group") ?? "").split(",")
    .map((group) => group.trim()).filter((group) => group !== "");
  if (name === null || name === "") {
    if (groups.length === 0) return user;
    throw badRequest("Impersonate-Group needs Impersonate-User beside it");
  }
  check(authorizer, user, "users", name);
  for (const group of groups) check(authorizer, user, "groups", group);
  const all = [...groups.length > 0 ? groups : impliedGroups(name), AUTHENTICATED];
  return { name, groups: [...new Set(all)] };
}
