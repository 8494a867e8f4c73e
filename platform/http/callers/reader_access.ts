/** Access of readers: TokenReview for who reads, SubjectAccessReview for what they may. */
import { createHash } from "node:crypto";
import { createBoundedCache } from "../../base/bounded_cache.ts";
import type { ReviewedAction } from "../../kube/self_reviews.ts";
import { createReviewCalls } from "./review_calls.ts";
import {
  reviewAccess,
  type ReviewedUser,
  type ReviewResult,
  reviewToken,
  type User,
} from "./reviews.ts";
import { createExpiringMemory } from "../../base/expiring_memory.ts";
import type { FairRate } from "../limits/fair_rate.ts";
import type { TakeFromBudget } from "../limits/reserved_budget.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { Clock } from "../../base/clock.ts";
import type { ReaderToken } from "./reader_token.ts";

/** A user whose token the API server accepts. */
export interface Reader extends User {
  readonly groups: readonly string[];
  /** Stands for all of this in memory: two readers of one name may differ in their groups. */
  readonly key: string;
}

/** What readers may do with an object. */
export type AccessVerb = "get" | "list" | "watch" | "update";

/** What rights are checked on: an object by its name, all of a namespace, or all of a kind. */
export type AccessObject = Pick<ReviewedAction, "kind" | "namespace" | "name">;

/**
 * Why a reader could not be checked: the API server gives no answer, or all readers together ask for more
 * reviews than there may be.
 */
export type Unchecked = "unavailable" | "over_budget";

/** Checks readers. Its answers are remembered for seconds. */
export interface Access {
  /** Returns whether the API server accepted the token the last time that it was asked. */
  wasAccepted(token: ReaderToken): boolean;
  /** Returns whether the API server refused the token a moment ago. */
  wasRefused(token: ReaderToken): boolean;
  /** Returns whose token it is, or `refused`, or why that is not known. */
  authenticate(token: ReaderToken): Promise<Reader | "refused" | Unchecked>;
  /**
   * Returns whether the reader may do that with the object, or why that is not known. Changes, and what streams are open
   * for, come first.
   */
  authorize(
    reader: Reader,
    object: AccessObject,
    verb?: AccessVerb,
    isOpen?: boolean,
  ): Promise<boolean | Unchecked | { readonly retryAfterMs: number }>;
  /** Ends what runs, and resolves when nothing does. */
  close(): Promise<void>;
}

/** Options of {@link createAccess}. */
export interface AccessOptions {
  /** Audience that tokens must be for, unless they are for the API server. */
  readonly audience: string;
  readonly client: Pick<KubeClient, "create">;
  readonly clock: Clock;
  /** Budget of TokenReviews. Tokens that were accepted before come first. */
  readonly takeTokenReview: TakeFromBudget;
  /**
   * Budget of SubjectAccessReviews. Users share it by their names, so that one that asks for one job after the other does
   * not take the reviews of all, also with many tokens.
   */
  readonly accessReviews: FairRate;
  /** `token_reviews_total{result}`. */
  readonly onReview?: (result: ReviewResult) => void;
}

/** Tokens, and answers about readers and jobs, that are remembered each. */
const MAX_ANSWERS = 20_000;

/** Lifetime of cached answers, in milliseconds: a revoked right ends within it. */
export const BELIEVED_MS = {
  accepted: 10_000,
  refused: 10_000,
  allowed: 20_000,
  denied: 5000,
  /** One that was given twice in a row, and what is asked first by everybody who may see some namespaces only. */
  deniedAgain: 20_000,
};

/** Returns the reader; `refused` for a token that is for another audience than it says. */
function readerOf(
  user: ReviewedUser | undefined,
  audiences: readonly string[] | undefined,
): Reader | "refused" {
  // An API server that knows of no audiences answers without: then the token may be for anything.
  if (!user || audiences?.some((it) => !user.audiences.includes(it))) return "refused";
  const { username, uid, groups = [], extra } = user;
  const key = createHash("sha256").update(JSON.stringify([username, uid, groups, extra]))
    .digest("base64");
  return { username, uid, groups, extra, key };
}

/** Creates an {@link Access}. */
export function createAccess(options: AccessOptions): Access {
  const { audience, client, clock, onReview } = options;
  const turns = options.accessReviews;
  const readers = createExpiringMemory<Reader | "refused">(clock, MAX_ANSWERS);
  const rights = createExpiringMemory<boolean>(clock, MAX_ANSWERS);
  const deniedBefore = createExpiringMemory<true>(clock, MAX_ANSWERS);
  const accepted = createBoundedCache<true>(MAX_ANSWERS);
  const tokenReviews = createReviewCalls<Reader | "refused">({
    clock,
    about: "tokens",
    take: options.takeTokenReview,
  });
  const accessReviews = createReviewCalls<boolean>({
    clock,
    about: "rights",
    take: turns.takeTurn,
  });

  async function review(
    { hash, token, isForApi }: ReaderToken,
    signal: AbortSignal,
  ): Promise<Reader | "refused"> {
    const audiences = isForApi ? undefined : [audience];
    const asked = { token, ...(audiences && { audiences }) };
    const reader = readerOf(await reviewToken(client, asked, { signal }), audiences);
    const isRefused = reader === "refused";
    if (isRefused) accepted.delete(hash);
    else accepted.set(hash, true);
    readers.set(hash, reader, BELIEVED_MS[isRefused ? "refused" : "accepted"]);
    onReview?.(isRefused ? "refused" : "authenticated");
    return reader;
  }

  /** Returns how long a denial is believed: a right that is given is waited for once, and then not asked for all the time. */
  function believeDenied(key: string, namespace: string | undefined): number {
    const isAgain = namespace === undefined || deniedBefore.get(key) === true;
    deniedBefore.set(key, true, 2 * BELIEVED_MS.deniedAgain);
    return BELIEVED_MS[isAgain ? "deniedAgain" : "denied"];
  }

  return {
    wasAccepted: ({ hash }) => accepted.has(hash),
    wasRefused: ({ hash }) => readers.get(hash) === "refused",
    async authenticate(token) {
      const known = readers.get(token.hash);
      if (known !== undefined) return known;
      const asked = await tokenReviews.ask({
        key: token.hash,
        first: accepted.has(token.hash),
        ask: (signal) => review(token, signal),
        onNoAnswer: () => onReview?.("unavailable"),
      });
      if (asked.answer !== undefined) return asked.answer;
      if (asked.why === "over_budget") onReview?.("over_budget");
      return asked.why;
    },
    async authorize(reader, { kind, namespace, name }, verb = "get", isOpen = false) {
      const { group, version, plural: resource } = kind;
      const key = [reader.key, verb, group, version, resource, namespace ?? "", name ?? ""].join(
        "/",
      );
      const known = rights.get(key);
      if (known !== undefined) return known;
      const isShared = accessReviews.isUnderWay(key);
      const { username: subject } = reader;
      const first = isOpen || verb === "update";
      const retryAfterMs = isShared ? 0 : turns.takeShare(subject, clock.monotonic(), first);
      if (retryAfterMs > 0) return { retryAfterMs };
      const action = { verb, kind, namespace, name };
      const asked = await accessReviews.ask({
        key,
        subject,
        first,
        ask: async (signal) => {
          const may = await reviewAccess(client, reader, action, { signal });
          rights.set(key, may, may ? BELIEVED_MS.allowed : believeDenied(key, namespace));
          return may;
        },
      });
      return asked.answer ?? asked.why;
    },
    async close() {
      await Promise.all([tokenReviews.close(), accessReviews.close()]);
    },
  };
}
