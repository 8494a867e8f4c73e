/** Stages that check the caller: its peer address, its token, its rates, and its job. */
import type { Bearer } from "../../platform/http/callers/bearer.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { continueWith } from "../../platform/base/continue_with.ts";
import type { Peers } from "../../platform/http/limits/peers.ts";
import type { KeyedBuckets } from "../../platform/base/token_bucket.ts";
import type { ReviewCache } from "../../platform/http/callers/token_review.ts";
import type {
  TokenVerifier,
  UndecidedReason,
  Verification,
} from "../../platform/http/callers/token_verification.ts";
import { notNow, type Refusal } from "../../platform/http/refusals.ts";
import { comeAgain } from "../../platform/http/replicas/owner_router.ts";
import { refuse, type StatusReason } from "./status_refusals.ts";
import { type Exchange, type Outcome, required, type StageRun } from "./exchange.ts";
import type { PushOrigin } from "../../crds/wire/push.ts";
import { pushAudience } from "./push_audience.ts";
import type { Ownership, OwnershipDecision } from "../ownership/ownership.ts";

/** Time for which the checks of a pod hold within one request, from its arrival, in milliseconds. */
const OWNED_FOR_MS = 500;

/** Reasons for which a token can be neither accepted nor refused now. */
const UNDECIDED: Readonly<Record<UndecidedReason, Refusal>> = {
  not_ready: notNow(comeAgain("the API server's keys are not known yet: try again soon")),
  not_reviewed: notNow(comeAgain("the API server cannot review the token now: try again soon")),
};

/** Refuses peers with too many failed authentications, but for tokens that were good before. */
export function peerFailures(
  peers: Pick<Peers, "waitMs" | "isShunned">,
  verifier: Pick<TokenVerifier, "known">,
): (exchange: Exchange) => Outcome {
  return ({ peer, bearer, monotonicMs }) => {
    const retryAfterMs = peers.waitMs(peer, monotonicMs);
    if (retryAfterMs === 0) return undefined;
    if (bearer.kind === "token" && verifier.known(bearer.hash) !== undefined) return undefined;
    return refuse("peer_limit", { retryAfterMs, closes: peers.isShunned(peer, monotonicMs) });
  };
}

/** Refuses a request without a token in the shape of a JWT. */
export function bearerShape({ bearer }: Exchange): Outcome {
  if (bearer.kind === "none") return refuse("no_token");
  return bearer.kind === "malformed" ? refuse("malformed_token") : undefined;
}

function tokenOf(exchange: Exchange): Extract<Bearer, { kind: "token" }> {
  return required(exchange.bearer.kind === "token" ? exchange.bearer : undefined, "token");
}

/** Refuses a token that was refused before, only by its hash. */
export function refusedTokens(verifier: Pick<TokenVerifier, "refused">): StageRun {
  return (exchange) => {
    const why = verifier.refused(tokenOf(exchange).hash);
    return why && refuse(why === "revoked" || why === "expired" ? why : "refused_before");
  };
}

/** Verifies the token, unless it is known. */
export function identity(verifier: Pick<TokenVerifier, "verify">): StageRun {
  const take = (exchange: Exchange, verification: Verification): Outcome => {
    if (verification.ok) {
      exchange.identity = verification.identity;
      return undefined;
    }
    const { why } = verification;
    return why === "not_ready" || why === "not_reviewed" ? UNDECIDED[why] : refuse(why);
  };
  return (exchange) => {
    const { hash, token } = tokenOf(exchange);
    return continueWith(verifier.verify(hash, token), (settled) => take(exchange, settled));
  };
}

/** Compares audience, namespace and pod of the token with the path. Nothing is looked up before this. */
export function scope(exchange: Exchange): Outcome {
  const identity = required(exchange.identity, "identity");
  const job = required(exchange.job, "job");
  const audience = pushAudience(identity, job);
  if (audience === undefined) return refuse("wrong_audience");
  if (identity.namespace !== job.namespace) return refuse("other_namespace");
  if (identity.pod === undefined) return refuse("not_bound");
  exchange.audience = audience;
  exchange.pod = identity.pod;
  return undefined;
}

/** Refuses what comes too often, by a key of the caller. */
export function rate(
  buckets: Pick<KeyedBuckets, "take">,
  keyOf: (exchange: Exchange) => string,
  why: Extract<StatusReason, `${string}_limit`>,
): StageRun {
  return (exchange) => {
    const retryAfterMs = buckets.take(keyOf(exchange), exchange.monotonicMs);
    return retryAfterMs > 0 ? refuse(why, { retryAfterMs }) : undefined;
  };
}

/** Returns the UID of the calling pod. */
export const podUid = ({ pod }: Exchange): string => required(pod, "pod").uid;

/** Returns the service account of the caller (KEP-2779 limits by it). */
export const subject = ({ identity }: Exchange): string => required(identity, "identity").subject;

/** Refuses a pod that is not part of the job that the path names. */
export function ownership(ownership: Pick<Ownership, "decide">): StageRun {
  const take = (exchange: Exchange, decision: OwnershipDecision): Outcome => {
    if (!decision.ok) return refuse(decision.why);
    exchange.jobUid = decision.jobUid;
    exchange.podStartMs = decision.podStartMs;
    return undefined;
  };
  return (exchange) => {
    const { kind, namespace, name } = required(exchange.job, "job");
    const { serviceAccount } = required(exchange.identity, "identity");
    const pod = required(exchange.pod, "pod");
    const decision = ownership.decide({ kind, namespace, job: name, pod, serviceAccount });
    return continueWith(decision, (settled) => take(exchange, settled));
  };
}

/**
 * Runs stages again if a slow body, or a review, took time: a pod that was deleted meanwhile is
 * refused, however slowly a client sends.
 */
export function afterDelay(
  clock: Clock,
  [refused, owned]: readonly [StageRun, StageRun],
): StageRun {
  return (exchange) => {
    const ageMs = clock.monotonic() - exchange.monotonicMs;
    if (ageMs < OWNED_FOR_MS) return undefined;
    return refused(exchange) ?? owned(exchange);
  };
}

/** Refuses a token that the API server does not accept. Its review is waited for if the job asks for that. */
export function review(
  reviews: Pick<ReviewCache, "known" | "review"> | undefined,
  awaitsReview: (origin: PushOrigin) => boolean,
): StageRun {
  async function ask(
    reviews: Pick<ReviewCache, "review">,
    exchange: Exchange,
  ): Promise<Outcome> {
    const { hash, token } = tokenOf(exchange);
    const job = required(exchange.job, "job");
    const awaited = awaitsReview({
      job: { ...job, uid: required(exchange.jobUid, "job's UID") },
      pod: required(exchange.pod, "pod"),
    });
    const outcome = reviews.review({
      hash,
      token,
      audience: required(exchange.audience, "audience"),
      identity: required(exchange.identity, "identity"),
      awaited,
    });
    // In the background: local checks and live UIDs said the same; a refusal revokes the token.
    if (!awaited) return undefined;
    const settled = await outcome;
    if (settled === "authenticated") return undefined;
    return settled === "refused" ? refuse("revoked") : UNDECIDED.not_reviewed;
  }
  return (exchange) => {
    if (reviews === undefined) return undefined;
    const known = reviews.known(tokenOf(exchange).hash);
    if (known === undefined) return ask(reviews, exchange);
    return known === "refused" ? refuse("revoked") : undefined;
  };
}
