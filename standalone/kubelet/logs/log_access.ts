/**
 * Access to logs at the node, as Kubernetes' kubelet decides it: a certificate of the client CA or a
 * token that the API server knows identifies the caller; a SubjectAccessReview decides whether it may read.
 */
import { createHash } from "node:crypto";
import { KINDS } from "../../../crds/kinds.ts";
import { reviewAccess, reviewToken, type User } from "../../../platform/http/callers/reviews.ts";
import { createExpiringMemory } from "../../../platform/base/expiring_memory.ts";
import type { KubeClient } from "../../../platform/kube/client.ts";
import type { Clock } from "../../../platform/base/clock.ts";

/** Credentials of a caller: the subject of a verified certificate, else a bearer token. */
export interface Proof {
  readonly certificate?: User;
  readonly token?: string;
}

/** Whether the caller may read; `code` is the HTTP status of a refusal. */
export type Access = { readonly ok: true } | {
  readonly ok: false;
  readonly code: 401 | 403;
  readonly message: string;
};

/** Decides about a caller. Throws if the API server does not answer. */
export type CheckAccess = (proof: Proof) => Promise<Access>;

const DEADLINE_MS = 10_000;
/** How long an answer holds, in milliseconds: as long as Kubernetes' kubelet holds them. */
const HOLDS_MS = { token: 120_000, allowed: 300_000, denied: 30_000 } as const;
/** Most answers that are remembered. */
const MOST = 1000;

/** Creates an access check that asks the API server, and remembers its answers for a while. */
export function createAccessCheck({ client, clock, nodeName }: {
  readonly client: Pick<KubeClient, "create">;
  readonly clock: Clock;
  readonly nodeName: string;
}): CheckAccess {
  const users = createExpiringMemory<User | "unknown">(clock, MOST);
  const rights = createExpiringMemory<boolean>(clock, MOST);
  const bounds = { deadlineMs: DEADLINE_MS };

  async function authenticate(token: string): Promise<User | "unknown"> {
    const hash = createHash("sha256").update(token).digest("base64");
    const known = users.get(hash);
    if (known !== undefined) return known;
    const user = await reviewToken(client, { token }, bounds) ?? "unknown";
    users.set(hash, user, HOLDS_MS.token);
    return user;
  }

  async function mayRead({ username, uid, groups, extra }: User): Promise<boolean> {
    const user = { username, uid, groups, extra };
    const key = JSON.stringify(user);
    const known = rights.get(key);
    if (known !== undefined) return known;
    const may = await reviewAccess(client, user, {
      verb: "get",
      kind: KINDS.node,
      subresource: "proxy",
      name: nodeName,
    }, bounds);
    rights.set(key, may, HOLDS_MS[may ? "allowed" : "denied"]);
    return may;
  }

  return async ({ certificate, token }) => {
    const user = certificate ?? (token ? await authenticate(token) : "unknown");
    if (user === "unknown") return { ok: false, code: 401, message: "Unauthorized" };
    if (await mayRead(user)) return { ok: true };
    const what = `user=${user.username}, verb=get, resource=nodes, subresource=proxy`;
    return { ok: false, code: 403, message: `Forbidden (${what})` };
  };
}
