/** Checks of every request in their order, cheapest first (docs/decisions/0030). */
import type { JobKinds } from "../../crds/job_kinds.ts";
import type { Clock } from "../../kube/clock.ts";
import * as caller from "./caller.ts";
import type { AcceptPush, PushOrigin, Route, Stage } from "./exchange.ts";
import { body, hand } from "./handover.ts";
import type { Ownership } from "../ownership/ownership.ts";
import { read, type ReadingParts, watch } from "../reading/read_stages.ts";
import { contentLength, route } from "./routes.ts";
import type { KeyedBuckets } from "../../http/limits/token_bucket.ts";
import type { Peers } from "../../http/limits/peers.ts";
import type { ReviewCache } from "../../http/callers/token_review.ts";
import type { TokenVerifier } from "../../http/callers/token_verification.ts";

/** What the stages work with. */
export interface StageParts {
  readonly kinds: JobKinds;
  readonly verifier: TokenVerifier;
  readonly ownership: Pick<Ownership, "decide">;
  /** Absent: nobody asks the API server about tokens (`--authentication local`). */
  readonly reviews?: Pick<ReviewCache, "known" | "review">;
  /** Whether the review of this push's token is waited for. */
  readonly awaitsReview: (origin: PushOrigin) => boolean;
  readonly accept: AcceptPush;
  /** How long the owner may take to answer, in milliseconds. */
  readonly acceptDeadlineMs: number;
  /** Absent: nothing can be read. */
  readonly reading?: ReadingParts | undefined;
  readonly clock: Clock;
  readonly peers: Pick<Peers, "waitMs" | "isShunned">;
  readonly podPushes: KeyedBuckets;
  readonly subjectPushes: KeyedBuckets;
  readonly podHistories: KeyedBuckets;
  readonly subjectHistories: KeyedBuckets;
}

/** Routes that bring something. */
const WRITES: readonly Route[] = ["push", "history"];

/** The chain in its order. Connection limits come before it, in the server. */
export function createStages(parts: StageParts): readonly Stage[] {
  return [
    { name: "peer failures", run: caller.peerFailures(parts) },
    { name: "path and method", run: route(parts.kinds) },
    { name: "content length", run: contentLength },
    { name: "bearer shape", run: caller.bearerShape },
    { name: "refused tokens", run: caller.refusedTokens(parts) },
    { name: "token", run: caller.identity(parts) },
    { name: "scope", run: caller.scope },
    { name: "pod rate", run: caller.podRate(parts) },
    { name: "subject rate", run: caller.subjectRate(parts) },
    { name: "history rate", routes: ["history"], run: caller.historyRate(parts) },
    { name: "ownership", run: caller.ownership(parts) },
    { name: "body", routes: WRITES, run: body() },
    { name: "review", run: caller.review(parts) },
    { name: "ownership again", run: caller.ownershipAgain(parts) },
    { name: "accept", routes: WRITES, run: hand(parts) },
    { name: "read", routes: ["read"], run: read(parts) },
    { name: "watch", routes: ["watch"], run: watch(parts) },
  ];
}
