/** Who calls, step by step: the bearer token, what is known of it, and whose job it may speak of. */
import type { Bearer } from "../../http/callers/bearer.ts";
import { type Exchange, found, type Outcome, type Stage } from "./exchange.ts";
import { pushAudience } from "./push_audience.ts";
import type { StageParts } from "./stages.ts";
import type { OwnershipDecision } from "../ownership/ownership.ts";
import { type UndecidedReason, type Verification } from "../../http/callers/token_verification.ts";

/** Time after which a client may come again while keys or reviews are not there. */
const SOON_MS = 1000;

/** How long what was found out about a pod counts within one request, from its arrival. */
const OWNED_FOR_MS = 500;

/** Why nobody can say now whether a token is good. */
const UNDECIDED: Readonly<Record<UndecidedReason, string>> = {
  not_ready: "the API server's keys are not known yet: try again soon",
  not_reviewed: "the API server cannot review the token now: try again soon",
};

/** Refuses peers with too many failed authentications, but for tokens that were good before. */
export function peerFailures({ peers, verifier }: StageParts): Stage["run"] {
  return ({ peer, bearer, monotonicMs }) => {
    const retryAfterMs = peers.waitMs(peer, monotonicMs);
    if (retryAfterMs === 0) return undefined;
    if (bearer.kind === "token" && verifier.known(bearer.hash) !== undefined) return undefined;
    return { why: "peer_limit", retryAfterMs, closes: peers.isShunned(peer, monotonicMs) };
  };
}

/** Refuses what has no token in the shape of a JWT. */
export function bearerShape({ bearer }: Exchange): Outcome {
  if (bearer.kind === "none") return { why: "no_token" };
  return bearer.kind === "malformed" ? { why: "malformed_token" } : undefined;
}

function tokenOf(exchange: Exchange): Extract<Bearer, { kind: "token" }> {
  return found(exchange.bearer.kind === "token" ? exchange.bearer : undefined, "token");
}

/** Refuses a token that was refused before, by its hash alone. */
export function refusedTokens({ verifier }: StageParts): Stage["run"] {
  return (exchange) => {
    const why = verifier.refused(tokenOf(exchange).hash);
    return why && { why: why === "revoked" || why === "expired" ? why : "refused_before" };
  };
}

/** Checks the token itself, or knows it. */
export function identity({ verifier }: StageParts): Stage["run"] {
  const heed = (exchange: Exchange, verification: Verification): Outcome => {
    if (verification.ok) {
      exchange.identity = verification.identity;
      return undefined;
    }
    const { why } = verification;
    if (why !== "not_ready" && why !== "not_reviewed") return { why };
    return { why: "unavailable", reason: UNDECIDED[why], retryAfterMs: SOON_MS };
  };
  return (exchange) => {
    const { hash, token } = tokenOf(exchange);
    const verification = verifier.verify(hash, token);
    return verification instanceof Promise
      ? verification.then((settled) => heed(exchange, settled))
      : heed(exchange, verification);
  };
}

/** Audience, namespace and pod of the token against the path. Nothing is looked up before this. */
export function scope(exchange: Exchange): Outcome {
  const identity = found(exchange.identity, "identity");
  const job = found(exchange.job, "job");
  const audience = pushAudience(identity, job);
  if (audience === undefined) return { why: "wrong_audience" };
  if (identity.namespace !== job.namespace) return { why: "other_namespace" };
  if (identity.pod === undefined) return { why: "not_bound" };
  exchange.audience = audience;
  exchange.pod = identity.pod;
  return undefined;
}

/** Requests of a pod. */
export function podRate({ podPushes }: StageParts): Stage["run"] {
  return (exchange) => {
    const retryAfterMs = podPushes.take(found(exchange.pod, "pod").uid, exchange.monotonicMs);
    return retryAfterMs > 0 ? { why: "pod_limit", retryAfterMs } : undefined;
  };
}

/** Histories of a pod, and of a service account: they cost more than pushes. */
export function historyRate({ podHistories, subjectHistories }: StageParts): Stage["run"] {
  return (exchange) => {
    const { pod, identity, monotonicMs } = exchange;
    const retryAfterMs = podHistories.take(found(pod, "pod").uid, monotonicMs) ||
      subjectHistories.take(found(identity, "identity").subject, monotonicMs);
    return retryAfterMs > 0 ? { why: "history_limit", retryAfterMs } : undefined;
  };
}

/** Requests of a service account (KEP-2779). */
export function subjectRate({ subjectPushes }: StageParts): Stage["run"] {
  return (exchange) => {
    const { subject } = found(exchange.identity, "identity");
    const retryAfterMs = subjectPushes.take(subject, exchange.monotonicMs);
    return retryAfterMs > 0 ? { why: "subject_limit", retryAfterMs } : undefined;
  };
}

/** Whether the pod is part of the job that the path names. */
export function ownership({ ownership }: StageParts): Stage["run"] {
  const heed = (exchange: Exchange, decision: OwnershipDecision): Outcome => {
    if (!decision.ok) return { why: decision.why };
    exchange.jobUid = decision.jobUid;
    exchange.podStartMs = decision.podStartMs;
    return undefined;
  };
  return (exchange) => {
    const { kind, namespace, name } = found(exchange.job, "job");
    const { serviceAccount } = found(exchange.identity, "identity");
    const pod = found(exchange.pod, "pod");
    const decision = ownership.decide({ kind, namespace, job: name, pod, serviceAccount });
    return decision instanceof Promise
      ? decision.then((settled) => heed(exchange, settled))
      : heed(exchange, decision);
  };
}

/**
 * Asks again who owns what where a slow body, or a review, has taken time since: what is deleted meanwhile
 * is refused, however slowly somebody sends.
 */
export function ownershipAgain(parts: StageParts): Stage["run"] {
  const [refused, owned] = [refusedTokens(parts), ownership(parts)];
  return (exchange) => {
    const ageMs = parts.clock.monotonic() - exchange.monotonicMs;
    return ageMs < OWNED_FOR_MS ? undefined : refused(exchange) ?? owned(exchange);
  };
}

/** What the API server says of the token: waited for where the job asks for that. */
export function review({ reviews, awaitsReview }: StageParts): Stage["run"] {
  async function ask(
    reviews: NonNullable<StageParts["reviews"]>,
    exchange: Exchange,
  ): Promise<Outcome> {
    const { hash, token } = tokenOf(exchange);
    const job = found(exchange.job, "job");
    const awaited = awaitsReview({
      job: { ...job, uid: found(exchange.jobUid, "job's UID") },
      pod: found(exchange.pod, "pod"),
    });
    const outcome = reviews.review({
      hash,
      token,
      audience: found(exchange.audience, "audience"),
      identity: found(exchange.identity, "identity"),
      awaited,
    });
    // In the background: local checks and live UIDs said the same; a refusal revokes the token.
    if (!awaited) return undefined;
    const settled = await outcome;
    if (settled === "authenticated") return undefined;
    if (settled === "refused") return { why: "revoked" };
    return { why: "unavailable", reason: UNDECIDED.not_reviewed, retryAfterMs: SOON_MS };
  }
  return (exchange) => {
    if (reviews === undefined) return undefined;
    const known = reviews.known(tokenOf(exchange).hash);
    if (known === undefined) return ask(reviews, exchange);
    return known === "refused" ? { why: "revoked" } : undefined;
  };
}
