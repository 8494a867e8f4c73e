/** Authentication of tokens by `--authentication`: keys, TokenReview, or both. */
import { createJwksSource } from "../../platform/http/callers/jwks.ts";
import { createReviewRequests } from "../../platform/http/callers/reviews.ts";
import { createReviewVerifier } from "../../platform/http/callers/review_verification.ts";
import {
  createReviewCache,
  createTokenReviewer,
  type ReviewCache,
} from "../../platform/http/callers/token_review.ts";
import {
  createTokenVerifier,
  type TokenVerifier,
} from "../../platform/http/callers/token_verification.ts";
import { createPushAudiences } from "../../status/chain/push_audience.ts";
import type { ManagerContext, ManagerParts } from "./manager_parts.ts";

/** Dependencies of {@link createAuthentication}. */
export type AuthenticationParts =
  & Pick<ManagerContext, "kinds" | "client" | "clock" | "configuration" | "metrics">
  & Pick<ManagerParts, "caches">;

/** Verifier of tokens. */
export interface Authentication {
  readonly verifier: TokenVerifier;
  /** Reviews of the tokens that the verifier accepts; absent without reviews. */
  readonly reviews?: ReviewCache;
  /** Whether tokens can be verified: the keys have been read. */
  ready(): boolean;
  /** Refreshes its keys until `signal` aborts. */
  run(signal: AbortSignal): Promise<void>;
  /** Ends what still runs. */
  close(): Promise<void>;
}

/** Only by TokenReview: needs no keys. */
function byReview(parts: AuthenticationParts): Authentication {
  const { client, caches, clock, configuration, metrics } = parts;
  const verifier = createReviewVerifier({
    request: createReviewRequests(client),
    audiencesOf: createPushAudiences(parts.kinds),
    clock,
    isKnownPod: (namespace, { name, uid }) =>
      [...caches.byKind.values()].some(({ pods }) =>
        pods.get({ namespace, name })?.metadata?.uid === uid
      ),
    reviewsPerSecond: configuration.tokenReviewQps,
    onCache: (result) => metrics.tokenCache.inc({ result }),
    onReview: (result) => metrics.tokenReviews.inc({ result }),
  });
  return {
    verifier,
    ready: () => true,
    run: () => Promise.resolve(),
    close: () => verifier.close(),
  };
}

/** By the API server's keys; with `reviewed`, by a TokenReview besides. */
function byKeys(parts: AuthenticationParts, reviewed: boolean): Authentication {
  const { client, clock, configuration, metrics } = parts;
  const keys = createJwksSource({
    client,
    clock,
    onRefresh: (result) => metrics.jwksRefreshes.inc({ result }),
  });
  const verifier = createTokenVerifier({
    keys,
    clock,
    onCache: (result) => metrics.tokenCache.inc({ result }),
  });
  const reviews = reviewed
    ? createReviewCache({
      ask: createTokenReviewer(createReviewRequests(client)),
      clock,
      onRefused: (hash) => verifier.revoke(hash),
      reviewsPerSecond: configuration.tokenReviewQps,
      onReview: (result) => metrics.tokenReviews.inc({ result }),
    })
    : undefined;
  return {
    verifier,
    ...(reviews === undefined ? {} : { reviews }),
    ready: () => keys.current() !== undefined,
    run: (signal) => keys.run(signal),
    close: async () => await reviews?.close(),
  };
}

/** Creates the authentication of the settings. */
export function createAuthentication(parts: AuthenticationParts): Authentication {
  const { authentication } = parts.configuration;
  return authentication === "review"
    ? byReview(parts)
    : byKeys(parts, authentication === "local+review");
}
