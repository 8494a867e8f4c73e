/**
 * Token verification only by TokenReview (`--authentication review`): no key is known here, and the API
 * server judges every token. The claims of a token are checked before, so that one that cannot be good
 * costs no question.
 */
import { decodeJwt } from "jose";
import { z } from "zod";
import type { UnauthorizedReason } from "./bearer.ts";
import { isSignatureAlgorithm } from "./jwks.ts";
import { createExpiringMemory } from "../../base/expiring_memory.ts";
import { createReservedBudget } from "../limits/reserved_budget.ts";
import { createReviewCalls } from "./review_calls.ts";
import { boundPods, type RequestReview, type ReviewedUser } from "./reviews.ts";
import type { ReviewCacheOptions } from "./token_review.ts";
import {
  CLOCK_LEEWAY_SECONDS,
  headerOf,
  identityOf,
  rememberedFirst,
  type TokenIdentity,
  type TokenVerifier,
  type TokenVerifierOptions,
  type Verification,
} from "./token_verification.ts";

/** Audiences of one token that are asked for. */
const MAX_AUDIENCES = 8;
const LEEWAY_MS = CLOCK_LEEWAY_SECONDS * 1000;
const SUBJECT = /^system:serviceaccount:([^:]+):([^:]+)$/;

/** How long a token counts as good, at most until it expires; and how long as bad, in milliseconds. */
const [GOOD_FOR_MS, REFUSED_FOR_MS] = [600_000, 60_000] as const;
/** Pause after a question without an answer, before the token is asked about again, in milliseconds. */
const PAUSE_MS = 1000;

const timesSchema = z.object({ nbf: z.number().optional() });

/** Returns those audiences of a token for which it may be accepted here. */
export type AudiencesOf = (identity: TokenIdentity) => readonly string[];

/** Claims of a token, if it may be good. */
export type Claimed =
  | { readonly ok: true; readonly identity: TokenIdentity }
  | { readonly ok: false; readonly why: UnauthorizedReason };

const no = (why: UnauthorizedReason): Claimed => ({ ok: false, why });

/** Checks shape, algorithm, times and audience of a token by its own claims. Verifies no signature. */
export function claimedBy(token: string, nowMs: number, audiencesOf: AudiencesOf): Claimed {
  const header = headerOf(token);
  if (header === undefined) return no("malformed_token");
  if (!isSignatureAlgorithm(header.alg)) return no("wrong_algorithm");
  let claims: unknown;
  try {
    claims = decodeJwt(token);
  } catch {
    return no("malformed_token");
  }
  const identity = identityOf(claims);
  const times = timesSchema.safeParse(claims);
  if (identity === undefined || !times.success) return no("malformed_token");
  if (nowMs >= identity.expiresMs + LEEWAY_MS) return no("expired");
  if (nowMs + LEEWAY_MS < (times.data.nbf ?? 0) * 1000) return no("not_yet_valid");
  const audiences = audiencesOf(identity).slice(0, MAX_AUDIENCES);
  return audiences.length === 0
    ? no("wrong_audience")
    : { ok: true, identity: { ...identity, audiences } };
}

/** Returns the identity that the API server gives; undefined if it is no service account. */
export function reviewedIdentity(
  user: ReviewedUser,
  expiresMs: number,
): TokenIdentity | undefined {
  const { username, uid, audiences } = user;
  const [, namespace, name] = SUBJECT.exec(username) ?? [];
  if (namespace === undefined || name === undefined || uid === undefined || uid === "") {
    return undefined;
  }
  const { names = [], uids = [] } = boundPods(user);
  const [[podName], [podUid]] = [names, uids];
  const isBound = podName !== undefined && podUid !== undefined &&
    names.length === 1 && uids.length === 1;
  return {
    subject: username,
    namespace,
    serviceAccount: { name, uid },
    ...(isBound && { pod: { name: podName, uid: podUid } }),
    audiences,
    expiresMs,
  };
}

/** Options of {@link createReviewVerifier}. */
export interface ReviewVerifierOptions
  extends
    Pick<TokenVerifierOptions, "clock" | "maxKnown" | "onCache">,
    Pick<ReviewCacheOptions, "reviewsPerSecond" | "onReview"> {
  readonly request: RequestReview;
  readonly audiencesOf: AudiencesOf;
  /**
   * Returns whether the watches know the pod: questions about the tokens of others come second if the
   * budget is short, so that made-up ones do not take it all.
   */
  readonly isKnownPod: (namespace: string, pod: { name: string; uid: string }) => boolean;
  /** Bad tokens remembered. Default 20000. */
  readonly maxRefused?: number;
}

/** A {@link TokenVerifier} that asks. */
export interface ReviewVerifier extends TokenVerifier {
  /** Ends what runs, and resolves when nothing does. */
  close(): Promise<void>;
}

/** Creates a {@link ReviewVerifier} with bounded memory and a budget. */
export function createReviewVerifier(options: ReviewVerifierOptions): ReviewVerifier {
  const { request, audiencesOf, clock, isKnownPod, onCache, onReview, maxKnown = 20_000 } = options;
  const reviews = createReviewCalls<Verification>({
    clock,
    about: "tokens",
    take: createReservedBudget(options.reviewsPerSecond ?? 50),
  });
  const { maxRefused = 20_000 } = options;
  const bad = createExpiringMemory<UnauthorizedReason>(clock, maxRefused);
  const good = createExpiringMemory<TokenIdentity>(clock, maxKnown);
  /** Tokens that are not asked about for a while. */
  const paused = createExpiringMemory<true>(clock, maxKnown);

  function known(hash: string): TokenIdentity | undefined {
    const identity = good.get(hash);
    if (identity === undefined || clock.now() < identity.expiresMs + LEEWAY_MS) return identity;
    good.delete(hash);
    return undefined;
  }

  function refuse(hash: string, why: UnauthorizedReason): Verification {
    if (why !== "not_yet_valid") bad.set(hash, why, REFUSED_FOR_MS);
    return { ok: false, why };
  }

  /** The answer counts from when it was asked for. */
  async function review(
    hash: string,
    token: string,
    claimed: TokenIdentity,
    signal: AbortSignal,
  ): Promise<Verification> {
    const untilMs = clock.monotonic() + GOOD_FOR_MS;
    const user = await request(token, claimed.audiences, signal);
    const identity = user && reviewedIdentity(user, claimed.expiresMs);
    onReview?.(identity === undefined ? "refused" : "authenticated");
    if (identity === undefined) return refuse(hash, "revoked");
    good.set(hash, identity, untilMs - clock.monotonic());
    return { ok: true, identity };
  }

  async function verifyNew(hash: string, token: string): Promise<Verification> {
    const claimed = claimedBy(token, clock.now(), audiencesOf);
    if (!claimed.ok) return refuse(hash, claimed.why);
    if (paused.get(hash)) return { ok: false, why: "not_reviewed" };
    const { identity: { subject, namespace, pod } } = claimed;
    const asked = await reviews.ask({
      key: hash,
      subject,
      first: pod !== undefined && isKnownPod(namespace, pod),
      ask: (signal) => review(hash, token, claimed.identity, signal),
      onNoAnswer: () => {
        paused.set(hash, true, PAUSE_MS);
        onReview?.("unavailable");
      },
    });
    if (asked.answer !== undefined) return asked.answer;
    if (asked.why === "over_budget") onReview?.("over_budget");
    return { ok: false, why: "not_reviewed" };
  }

  return {
    ...rememberedFirst({ known, bad, onCache, verifyNew }),
    revoke(hash) {
      good.delete(hash);
      bad.set(hash, "revoked", Math.max(REFUSED_FOR_MS, GOOD_FOR_MS));
    },
    close: () => reviews.close(),
  };
}
