/** Chains of stages that requests go through, cheapest check first (docs/decisions/0015). Order is data. */
import type { KeyedBuckets } from "../../platform/base/token_bucket.ts";
import type { ReviewCache } from "../../platform/http/callers/token_review.ts";
import type { TokenVerifier } from "../../platform/http/callers/token_verification.ts";
import type { PushOrigin } from "../../crds/wire/push.ts";
import type { Ownership } from "../ownership/ownership.ts";
import { read, type ReadingParts, watch } from "../reading/read_stages.ts";
import { body, createHistoryStages, type SampleRates } from "./push_body.ts";
import * as caller from "./caller.ts";
import type { Chain, Exchange, Stage } from "./exchange.ts";
import { createHandOver, type HandOverParts } from "./handover.ts";
import { contentLength } from "./status_routes.ts";

/** What the chains ask. */
export interface ChainOptions extends HandOverParts {
  readonly verifier: TokenVerifier;
  readonly ownership: Pick<Ownership, "decide">;
  /** Absent: tokens are checked locally only (`--authentication local`). */
  readonly reviews?: Pick<ReviewCache, "known" | "review">;
  /** Returns whether the review of a push's token is waited for. */
  readonly awaitsReview: (origin: PushOrigin) => boolean;
  readonly reading: ReadingParts;
}

/** Parts of the chains. */
export interface ChainParts extends ChainOptions {
  readonly podPushes: KeyedBuckets;
  readonly subjectPushes: KeyedBuckets;
  readonly podBeats: KeyedBuckets;
  readonly podHistories: KeyedBuckets;
  readonly subjectHistories: KeyedBuckets;
  readonly samples: SampleRates;
}

/** Chains by what a request is for. */
export interface Chains extends Readonly<Record<Chain, readonly Stage[]>> {
  /** Stages that run again while a stream is open. */
  readonly recheck: readonly Stage[];
}

/** Creates the chains. Limits of connections come before them, in the server; peer, path and method, in the shell. */
export function createChains(parts: ChainParts): Chains {
  const { verifier, clock, reviews, awaitsReview, reading } = parts;
  const refused = { name: "refused tokens", run: caller.refusedTokens(verifier) };
  const token = { name: "token", run: caller.identity(verifier) };
  const scope = { name: "scope", run: caller.scope };
  const ownership = { name: "ownership", run: caller.ownership(parts.ownership) };
  const review = { name: "review", run: caller.review(reviews, awaitsReview) };
  const ownershipAgain = {
    name: "ownership again",
    run: caller.afterDelay(clock, [refused.run, ownership.run]),
  };
  const initialChecks: readonly Stage[] = [
    { name: "content length", run: contentLength },
    { name: "bearer shape", run: caller.bearerShape },
    refused,
    token,
    scope,
    { name: "pod rate", run: caller.rate(parts.podPushes, caller.podUid, "pod_limit") },
    {
      name: "subject rate",
      run: caller.rate(parts.subjectPushes, caller.subject, "subject_limit"),
    },
  ];
  const ofHistories = createHistoryStages(parts.samples, clock);
  const histories: readonly Stage[] = [
    {
      name: "history rate of the pod",
      run: caller.rate(parts.podHistories, caller.podUid, "history_limit"),
    },
    {
      name: "history rate of the subject",
      run: caller.rate(parts.subjectHistories, caller.subject, "history_limit"),
    },
    { name: "history samples", run: ofHistories.samples },
  ];
  const beatRate = caller.rate(parts.podBeats, caller.podUid, "beat_limit");
  const ofHeartbeats = (exchange: Exchange) =>
    exchange.body?.heartbeat === undefined ? undefined : beatRate(exchange);
  const handOver = { name: "hand over", run: createHandOver(parts) };
  const recheck = [refused, token, scope, ownership, review];
  const reads = [...initialChecks, ownership, review, ownershipAgain];
  const readNewest = { name: "read", run: read(reading, parts) };
  const readStream = { name: "watch", run: watch(reading, parts, recheck) };
  return {
    push: [
      ...initialChecks,
      ownership,
      { name: "body", run: body },
      { name: "heartbeat rate", run: ofHeartbeats },
      review,
      ownershipAgain,
      handOver,
    ],
    history: [
      ...initialChecks,
      ...histories,
      ownership,
      { name: "body", run: ofHistories.body },
      review,
      ownershipAgain,
      handOver,
    ],
    read: [...reads, readNewest],
    watch: [...reads, readStream],
    recheck,
  };
}
