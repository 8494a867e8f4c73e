/** The chain that every push goes through, cheapest check first (design, decision 6). Order is data. */
import { createHash } from "node:crypto";
import { PUSH_LIMITS, TRAINER_API_VERSION } from "../crds/names.ts";
import type { Clock } from "../kube/clock.ts";
import { okResponse } from "./answer.ts";
import {
  type Acceptance,
  type AcceptPush,
  type Bearer,
  type Exchange,
  found,
  type Push,
  type Stage,
} from "./exchange.ts";
import type { Ownership } from "./ownership.ts";
import { readPush } from "./push.ts";
import type { KeyedBuckets } from "./token_bucket.ts";
import type { ReviewCache } from "./token_review.ts";
import { MAX_TOKEN_LENGTH, pushAudience, type TokenVerifier } from "./token_verification.ts";

/** What the stages work with. */
export interface StageParts {
  readonly verifier: TokenVerifier;
  readonly ownership: Pick<Ownership, "decide">;
  /** Absent: nobody asks the API server about tokens (`--authentication local`). */
  readonly reviews?: Pick<ReviewCache, "known" | "review">;
  /** Whether the review of this push's token is waited for. */
  readonly awaitsReview: (job: { namespace: string; name: string; uid: string }) => boolean;
  readonly accept: AcceptPush;
  readonly acceptDeadlineMs: number;
  readonly clock: Clock;
  readonly peerFailures: KeyedBuckets;
  readonly podPushes: KeyedBuckets;
  readonly subjectPushes: KeyedBuckets;
}

const NAME = "([a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?)";
const PATH = new RegExp(
  `^/apis/${
    TRAINER_API_VERSION.replaceAll(".", "\\.")
  }/namespaces/${NAME}/trainjobs/${NAME}/status$`,
);
const METHOD = "POST";
const JWT = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$/;
/** Time after which a client may come again while keys, reviews or caches are not there. */
const SOON_MS = 1000;

/** Reads the Authorization header: scheme in any case, one token in the shape of a JWT. */
export function bearerOf(header: string | undefined): Bearer {
  if (header === undefined || header.trim() === "") return { kind: "none" };
  // Only the scheme is looked at before the length is.
  const space = header.search(/[ \t]/);
  if (space < 0 || header.slice(0, space).toLowerCase() !== "bearer") return { kind: "malformed" };
  if (header.length > MAX_TOKEN_LENGTH + 64) return { kind: "malformed" };
  const token = header.slice(space).trim();
  if (token.length > MAX_TOKEN_LENGTH || !JWT.test(token)) return { kind: "malformed" };
  return { kind: "token", token, hash: createHash("sha256").update(token).digest("base64") };
}

/** Refuses peers with too many failed authentications, but for tokens that were good before. */
function peerFailures({ peerFailures, verifier }: StageParts): Stage["run"] {
  return ({ peer, bearer, monotonicMs }) => {
    const retryAfterMs = peerFailures.waitMs(peer, monotonicMs);
    if (retryAfterMs === 0) return undefined;
    if (bearer.kind === "token" && verifier.known(bearer.hash) !== undefined) return undefined;
    return { why: "peer_limit", retryAfterMs };
  };
}

function route(exchange: Exchange): ReturnType<Stage["run"]> {
  const path = exchange.request.url.split("?", 1)[0] ?? "";
  const [, namespace, name] = PATH.exec(path) ?? [];
  if (namespace === undefined || name === undefined) return { why: "unknown_path" };
  if (exchange.request.method !== METHOD) return { why: "wrong_method", allow: METHOD };
  exchange.job = { namespace, name };
  return undefined;
}

function contentLength({ request }: Exchange): ReturnType<Stage["run"]> {
  const length = Number(request.header("content-length") ?? 0);
  return length > PUSH_LIMITS.bodyBytes ? { why: "body_too_large" } : undefined;
}

function bearerShape({ bearer }: Exchange): ReturnType<Stage["run"]> {
  if (bearer.kind === "none") return { why: "no_token" };
  return bearer.kind === "malformed" ? { why: "malformed_token" } : undefined;
}

function tokenOf(exchange: Exchange): Extract<Bearer, { kind: "token" }> {
  return found(exchange.bearer.kind === "token" ? exchange.bearer : undefined, "token");
}

function refusedTokens({ verifier }: StageParts): Stage["run"] {
  return (exchange) => {
    const why = verifier.refused(tokenOf(exchange).hash);
    return why && { why: why === "revoked" || why === "expired" ? why : "refused_before" };
  };
}

function identity({ verifier }: StageParts): Stage["run"] {
  return async (exchange) => {
    const { hash, token } = tokenOf(exchange);
    const verification = await verifier.verify(hash, token);
    if (verification.ok) {
      exchange.identity = verification.identity;
      return undefined;
    }
    if (verification.why !== "not_ready") return { why: verification.why };
    const reason = "the API server's keys are not known yet: try again soon";
    return { why: "unavailable", reason, retryAfterMs: SOON_MS };
  };
}

/** Audience, namespace and pod of the token against the path. Nothing is looked up before this. */
function scope(exchange: Exchange): ReturnType<Stage["run"]> {
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

function podRate({ podPushes }: StageParts): Stage["run"] {
  return (exchange) => {
    const retryAfterMs = podPushes.take(found(exchange.pod, "pod").uid, exchange.monotonicMs);
    return retryAfterMs > 0 ? { why: "pod_limit", retryAfterMs } : undefined;
  };
}

function subjectRate({ subjectPushes }: StageParts): Stage["run"] {
  return (exchange) => {
    const { subject } = found(exchange.identity, "identity");
    const retryAfterMs = subjectPushes.take(subject, exchange.monotonicMs);
    return retryAfterMs > 0 ? { why: "subject_limit", retryAfterMs } : undefined;
  };
}

function ownership({ ownership }: StageParts): Stage["run"] {
  return async (exchange) => {
    const { namespace, name } = found(exchange.job, "job");
    const { serviceAccount } = found(exchange.identity, "identity");
    const pod = found(exchange.pod, "pod");
    const decision = await ownership.decide({ namespace, trainJob: name, pod, serviceAccount });
    if (!decision.ok) return { why: decision.why };
    exchange.jobUid = decision.trainJobUid;
    return undefined;
  };
}

async function body(exchange: Exchange): Promise<Awaited<ReturnType<Stage["run"]>>> {
  const bytes = await exchange.request.readBody(PUSH_LIMITS.bodyBytes);
  if (bytes === undefined) return { why: "body_too_large" };
  const read = readPush(bytes);
  if (!read.ok) return { why: "invalid", causes: read.causes };
  exchange.body = read.push;
  return undefined;
}

function review({ reviews, awaitsReview }: StageParts): Stage["run"] {
  return async (exchange) => {
    if (reviews === undefined) return undefined;
    const { hash, token } = tokenOf(exchange);
    const known = reviews.known(hash);
    if (known !== undefined) return known === "refused" ? { why: "revoked" } : undefined;
    const outcome = reviews.review({
      hash,
      token,
      audience: found(exchange.audience, "audience"),
      identity: found(exchange.identity, "identity"),
    });
    const uid = found(exchange.jobUid, "job's UID");
    // In the background: local checks and live UIDs said the same; a refusal revokes the token.
    if (!awaitsReview({ ...found(exchange.job, "job"), uid })) return undefined;
    const settled = await outcome;
    if (settled === "authenticated") return undefined;
    if (settled === "refused") return { why: "revoked" };
    const reason = "the API server cannot review the token now: try again soon";
    return { why: "unavailable", reason, retryAfterMs: SOON_MS };
  };
}

async function withinDeadline(parts: StageParts, push: Push): Promise<Acceptance> {
  const { accept, acceptDeadlineMs, clock } = parts;
  const over = new AbortController();
  const late = clock.sleep(acceptDeadlineMs, over.signal).then((): Acceptance => ({
    retryAfterMs: SOON_MS,
    reason: "the owner of this job's status did not answer in time: try again soon",
  }));
  try {
    return await Promise.race([accept(push, over.signal), late]);
  } finally {
    over.abort();
  }
}

function hand(parts: StageParts): Stage["run"] {
  return async (exchange) => {
    const pushed = found(exchange.body, "body");
    const { trainerStatus, sequence } = pushed;
    if (trainerStatus === undefined) {
      exchange.response = okResponse(pushed);
      return undefined;
    }
    const acceptance = await withinDeadline(parts, {
      job: { ...found(exchange.job, "job"), uid: found(exchange.jobUid, "job's UID") },
      pod: found(exchange.pod, "pod"),
      trainerStatus,
      sequence,
      receivedMs: exchange.nowMs,
    });
    if (!acceptance.ok) {
      const { reason, retryAfterMs } = acceptance;
      return { why: "unavailable", reason, retryAfterMs };
    }
    const { warnings, control } = acceptance;
    const heard = warnings !== undefined && warnings.length > 0 ? { warnings } : {};
    exchange.response = okResponse({ ...pushed, ...heard, ...(control && { control }) });
    return undefined;
  };
}

/** The chain in its order. Connection limits come before it, in the server. */
export function createStages(parts: StageParts): readonly Stage[] {
  return [
    { name: "peer failures", run: peerFailures(parts) },
    { name: "path and method", run: route },
    { name: "content length", run: contentLength },
    { name: "bearer shape", run: bearerShape },
    { name: "refused tokens", run: refusedTokens(parts) },
    { name: "token", run: identity(parts) },
    { name: "scope", run: scope },
    { name: "pod rate", run: podRate(parts) },
    { name: "subject rate", run: subjectRate(parts) },
    { name: "ownership", run: ownership(parts) },
    { name: "body", run: body },
    { name: "review", run: review(parts) },
    { name: "accept", run: hand(parts) },
  ];
}
