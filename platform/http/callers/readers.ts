/** Readers: the checks of all that is read from outside, with one budget of reviews. */
import type { Clock } from "../../base/clock.ts";
import type { KubeClient } from "../../kube/client.ts";
import { createFairRate } from "../limits/fair_rate.ts";
import { createReservedBudget } from "../limits/reserved_budget.ts";
import { type BucketLimits, createKeyedBuckets } from "../../base/token_bucket.ts";
import { type AccessOptions, createAccess } from "./reader_access.ts";
import type { ReaderParts } from "./reader_checks.ts";

/** Options of {@link createReaders}. */
export interface ReadersOptions
  extends
    Pick<ReaderParts, "audience" | "clock" | "peers">,
    Required<Pick<AccessOptions, "onReview">> {
  readonly client: Pick<KubeClient, "create">;
  readonly clock: Clock;
  /** TokenReviews, and SubjectAccessReviews, that readers may cause each second. */
  readonly reviewsPerSecond: number;
  /** The most SubjectAccessReviews that one question of a reader needs, which each reader may cause at once. */
  readonly reviewsAtOnce: number;
  /** Whether tokens are taken by which users call the API server. */
  readonly apiTokens: boolean;
  /**
   * Reviews of new tokens for the API server that one peer may cause: anybody can make up such tokens. Default 1 a
   * second, 20 at once.
   */
  readonly apiReviewsPerPeer?: BucketLimits;
}

/** The checks, and their end. */
export interface Readers extends ReaderParts {
  /** Ends what runs, and resolves when nothing does. */
  close(): Promise<void>;
}

/** Reads of one subject: a controller that polls a thousand trials every five seconds. */
const READS_PER_SUBJECT = { ratePerSecond: 200, burst: 1000 } as const;
/** Subjects remembered. */
const MAX_SUBJECTS = 10_000;
const API_REVIEWS_PER_PEER = { ratePerSecond: 1, burst: 20 } as const;

/** Creates {@link Readers}. */
export function createReaders(options: ReadersOptions): Readers {
  const { audience, client, clock, peers, reviewsPerSecond, apiTokens, onReview } = options;
  const { apiReviewsPerPeer = API_REVIEWS_PER_PEER } = options;
  const access = createAccess({
    audience,
    client,
    clock,
    takeTokenReview: createReservedBudget(reviewsPerSecond),
    accessReviews: createFairRate({
      clock,
      perSecond: reviewsPerSecond,
      userBurst: options.reviewsAtOnce,
    }),
    onReview,
  });
  return {
    access,
    audience,
    clock,
    peers,
    takeRead: createKeyedBuckets(READS_PER_SUBJECT, MAX_SUBJECTS).take,
    ...(apiTokens && {
      takeApiReview: createKeyedBuckets(apiReviewsPerPeer, MAX_SUBJECTS).take,
    }),
    close: access.close,
  };
}
