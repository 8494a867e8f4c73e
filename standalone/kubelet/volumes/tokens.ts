/** Service account tokens bound to one pod, renewed when four fifths of their life are over. */
import { z } from "zod";
import { KINDS } from "../../../crds/kinds.ts";
import type { Pod } from "../../../platform/kube/kubernetes.ts";
import type { KubeClient } from "../../../platform/kube/client.ts";
import type { Clock } from "../../../platform/base/clock.ts";
import { soonest } from "../../../platform/base/soonest.ts";

/** A token that a projected volume asks for. */
export interface TokenSpec {
  readonly audience?: string;
  /** Default 3600. */
  readonly expirationSeconds?: number;
}

/** The tokens of one pod. */
export type TokenSource = ReturnType<typeof createTokenSource>;

/** Share of a token's life after which it is renewed. */
const RENEW_AFTER = 0.8;
/** Wait after a renewal that failed, in milliseconds. */
const RETRY_MS = 10_000;

const answerSchema = z.looseObject({
  status: z.looseObject({ token: z.string().min(1), expirationTimestamp: z.string() }),
});

interface Issued {
  readonly token: string;
  readonly expiresAt: number;
  readonly renewAt: number;
}

/** Asks for the tokens of `pod`. A token that cannot be renewed is used as long as it lives. */
export function createTokenSource(
  { client, pod, clock, signal }: {
    client: KubeClient;
    pod: Pod;
    clock: Clock;
    signal: AbortSignal;
  },
) {
  const issued = new Map<string, Issued>();
  const account = {
    namespace: pod.metadata?.namespace,
    name: pod.spec?.serviceAccountName || "default",
  };

  async function request({ audience, expirationSeconds = 3600 }: TokenSpec): Promise<Issued> {
    const askedAt = clock.now();
    const { name, uid } = pod.metadata ?? {};
    const answer = await client.createSubresource(KINDS.serviceAccount, account, "token", {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: {
        ...(audience ? { audiences: [audience] } : {}),
        expirationSeconds,
        boundObjectRef: { apiVersion: "v1", kind: "Pod", name, uid },
      },
    }, { deadlineMs: 10_000, signal });
    const { token, expirationTimestamp } = answerSchema.parse(answer).status;
    const expiresAt = Date.parse(expirationTimestamp);
    return { token, expiresAt, renewAt: askedAt + (expiresAt - askedAt) * RENEW_AFTER };
  }

  return {
    /** A token with at least a fifth of its life left, if the API server grants one. */
    async token(spec: TokenSpec): Promise<string> {
      const key = `${spec.audience ?? ""}/${spec.expirationSeconds ?? ""}`;
      const old = issued.get(key);
      if (old && clock.now() < old.renewAt) return old.token;
      try {
        const fresh = await request(spec);
        issued.set(key, fresh);
        return fresh.token;
      } catch (error) {
        if (!old || clock.now() >= old.expiresAt) throw error;
        issued.set(key, { ...old, renewAt: clock.now() + RETRY_MS });
        return old.token;
      }
    },
    /** When the first of the tokens is due, in milliseconds since the epoch. */
    get renewAt(): number | undefined {
      return soonest([...issued.values()].map(({ renewAt }) => renewAt));
    },
  };
}
