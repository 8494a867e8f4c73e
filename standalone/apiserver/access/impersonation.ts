/** Impersonation (`kubectl --as`): requests on behalf of another user. */
import { badRequest, forbidden } from "../objects/status_error.ts";
import type { Authorizer } from "./authorizer.ts";
import { AUTHENTICATED, serviceAccountUser, type User } from "./user.ts";

const SERVICE_ACCOUNT = /^system:serviceaccount:([^:]+):([^:]+)$/;

function impliedGroups(name: string): string[] {
  const [, namespace, account] = SERVICE_ACCOUNT.exec(name) ?? [];
  return namespace && account ? serviceAccountUser(namespace, account).groups : [];
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
  const cause = `User "${user.name}" cannot impersonate resource "${resource}" in API group "" ` +
    "at the cluster scope";
  throw forbidden({ group: "", resource }, name, cause);
}

/** Returns the user to act as: the one that the headers name, or else the sender. Throws 400 and 403. */
export function effectiveUser(authorizer: Authorizer, user: User, headers: Headers): User {
  const name = headers.get("impersonate-user");
  const groups = (headers.get("impersonate-group") ?? "").split(",")
    .map((group) => group.trim()).filter((group) => group !== "");
  if (name === null || name === "") {
    if (groups.length === 0) return user;
    throw badRequest("Impersonate-Group requires Impersonate-User");
  }
  check(authorizer, user, "users", name);
  for (const group of groups) check(authorizer, user, "groups", group);
  const all = [...groups.length > 0 ? groups : impliedGroups(name), AUTHENTICATED];
  return { name, groups: [...new Set(all)] };
}
