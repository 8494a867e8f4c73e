/**
 * Who may read logs at the node, as Kubernetes' kubelet decides it: a certificate of the client CA or
 * a token that the API server knows says who; a SubjectAccessReview says whether.
 */
import { createBoundedCache } from "../../kube/bounded_cache.ts";
import { z } from "zod";
import type { KubeClient } from "../../kube/client.ts";
import type { Clock } from "../../kube/clock.ts";

/** Who asks. */
export interface Caller {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** What a caller shows: the subject of a certificate that was verified, else a bearer token. */
export interface Proof {
  readonly certificate?: Caller;
  readonly token?: string;
}

/** Whether the caller may read; `code` is the HTTP status of a refusal. */
export type Access = { readonly ok: true } | {
  readonly ok: false;
  readonly code: 401 | 403;
  readonly message: string;
};

/** Decides about a caller. Throws where the API server does not answer. */
export type CheckAccess = (proof: Proof) => Promise<Access>;

/** Of a token that it does not know the API server says `user: {}`. */
const userSchema = z.looseObject({
  username: z.string().optional(),
  uid: z.string().optional(),
  groups: z.array(z.string()).optional(),
  extra: z.record(z.string(), z.array(z.string())).optional(),
});
const tokenReview = z.looseObject({
  status: z.looseObject({ authenticated: z.boolean().optional(), user: userSchema.optional() }),
});
const accessReview = z.looseObject({
  status: z.looseObject({ allowed: z.boolean().optional(), reason: z.string().optional() }),
});

const DEADLINE_MS = 10_000;
/** How long an answer holds, in milliseconds: as long as Kubernetes' kubelet holds them. */
const HOLDS_MS = { token: 120_000, allowed: 300_000, denied: 30_000 } as const;
/** Most answers that are remembered. */
const MOST = 1000;

interface Remembered<T> {
  readonly value: T;
  readonly until: number;
}

/** Asks `ask` unless an answer of this key still holds. */
function remembering<T extends object>(clock: Clock, holdsMs: (value: T) => number) {
  const known = createBoundedCache<Remembered<T>>(MOST);
  return async (key: string, ask: () => Promise<T>): Promise<T> => {
    const found = known.get(key);
    if (found && clock.monotonic() < found.until) return found.value;
    const value = await ask();
    known.set(key, { value, until: clock.monotonic() + holdsMs(value) });
    return value;
  };
}

async function hashOf(token: string): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(token));
  return new Uint8Array(hash).toBase64();
}

/** Options of {@link createAccessCheck}. */
export interface AccessCheckOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly nodeName: string;
}

/** An access check that asks the API server, and remembers for a while what it said. */
export function createAccessCheck({ client, clock, nodeName }: AccessCheckOptions): CheckAccess {
  const callers = remembering<{ caller?: Caller }>(clock, () => HOLDS_MS.token);
  const answers = remembering<Access>(
    clock,
    ({ ok }) => ok ? HOLDS_MS.allowed : HOLDS_MS.denied,
  );

  async function post(path: string, kind: string, spec: unknown): Promise<unknown> {
    const [, , group = "", version = ""] = path.split("/");
    const answer = await client.raw(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ apiVersion: `${group}/${version}`, kind, spec }),
      deadlineMs: DEADLINE_MS,
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`the API server answered a ${kind} with ${answer.status}`);
    return JSON.parse(text);
  }

  async function review(token: string): Promise<{ caller?: Caller }> {
    const path = "/apis/authentication.k8s.io/v1/tokenreviews";
    const { status } = tokenReview.parse(await post(path, "TokenReview", { token }));
    const { username: name, groups = [], uid, extra } = status.user ?? {};
    if (!status.authenticated || !name) return {};
    return { caller: { name, groups, ...uid ? { uid } : {}, ...extra ? { extra } : {} } };
  }

  async function authorize({ name, uid, groups, extra }: Caller): Promise<Access> {
    const path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    const { status } = accessReview.parse(
      await post(path, "SubjectAccessReview", {
        user: name,
        uid,
        groups,
        extra,
        resourceAttributes: {
          verb: "get",
          version: "v1",
          resource: "nodes",
          subresource: "proxy",
          name: nodeName,
        },
      }),
    );
    if (status.allowed) return { ok: true };
    const message = `Forbidden (user=${name}, verb=get, resource=nodes, subresource=proxy)`;
    return { ok: false, code: 403, message };
  }

  return async ({ certificate, token }) => {
    const caller = certificate ??
      (token && (await callers(await hashOf(token), () => review(token))).caller);
    if (!caller) return { ok: false, code: 401, message: "Unauthorized" };
    return await answers(JSON.stringify(caller), () => authorize(caller));
  };
}
