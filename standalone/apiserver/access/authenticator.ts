/** Authentication of requests by static tokens and service-account tokens. */
import { createHash } from "node:crypto";
import { AUDIENCES, type ServiceAccountTokens, type Verdict } from "./service_account_tokens.ts";
import { AUTHENTICATED, type User } from "./user.ts";

/** A static token and its user. */
export interface StaticToken {
  readonly token: string;
  readonly user: { readonly name: string; readonly uid?: string; readonly groups: string[] };
}

/** Authenticates requests and tokens. */
export type Authenticator = ReturnType<typeof createAuthenticator>;

const BEARER = /^Bearer +([^\s,]+) *$/i;

/** Tokens are compared by hash, so that the duration of a comparison reveals nothing. */
function hashOf(token: string): string {
  return createHash("sha256").update(token).digest("base64");
}

/** Creates an authenticator. Throws a RangeError for an empty or duplicate static token. */
export function createAuthenticator(options: {
  /** Tokens of the administrator (group `system:masters`), the kubelet and the controllers. */
  readonly staticTokens: readonly StaticToken[];
  readonly serviceAccountTokens: ServiceAccountTokens;
}) {
  const users = new Map<string, User>();
  for (const { token, user } of options.staticTokens) {
    if (token === "") throw new RangeError(`the static token of ${user.name} must not be empty`);
    const hash = hashOf(token);
    if (users.has(hash)) throw new RangeError(`the static token of ${user.name} must be unique`);
    users.set(hash, { ...user, groups: [...new Set([...user.groups, AUTHENTICATED])] });
  }

  async function authenticateToken(
    token: string,
    audiences: readonly string[],
  ): Promise<Verdict> {
    const user = users.get(hashOf(token));
    if (user === undefined) return await options.serviceAccountTokens.verify(token, audiences);
    const shared = AUDIENCES.filter((audience) => audiences.includes(audience));
    return shared.length > 0
      ? { ok: true, user, audiences: shared }
      : { ok: false, reason: "wrong_audience" };
  }

  return {
    /** Returns the user of a token for any of the audiences; static tokens are valid for the server's own. */
    authenticateToken,
    /** Returns the user of an `Authorization` header; undefined if the header is missing or its token is unknown. */
    async authenticate(header: string | undefined): Promise<User | undefined> {
      const token = BEARER.exec(header ?? "")?.[1];
      if (token === undefined) return undefined;
      const verdict = await authenticateToken(token, AUDIENCES);
      return verdict.ok ? verdict.user : undefined;
    },
  };
}
