/** TokenReview and SubjectAccessReview: what the API server says of callers. */
import { KUBERNETES_KINDS } from "../../kube/kubernetes_kinds.ts";
import type { KubeClient } from "../../kube/client.ts";
import { attributesOf, type ReviewedAction } from "../../kube/self_reviews.ts";

/** Outcomes of questions about tokens: label of `token_reviews_total{result}`. */
export type ReviewResult = "authenticated" | "refused" | "unavailable" | "over_budget";

/** A user, as the API server knows it. */
export interface User {
  readonly username: string;
  /** UID of a service account, for example. */
  readonly uid?: string | undefined;
  readonly groups?: readonly string[] | undefined;
  readonly extra?: Readonly<Record<string, readonly string[]>> | undefined;
}

/** A user whose token the API server accepts. */
export interface ReviewedUser extends User {
  /** Those of the audiences asked for that the token is for. */
  readonly audiences: readonly string[];
}

/** Reviews a token. Returns undefined if it is not accepted. Throws if there is no answer. */
export type RequestReview = (
  token: string,
  audiences: readonly string[],
  signal: AbortSignal,
) => Promise<ReviewedUser | undefined>;

/** Bounds of a review. */
export interface ReviewBounds {
  readonly signal?: AbortSignal | undefined;
  /** Default: 3 s. */
  readonly deadlineMs?: number;
}

type ReviewClient = Pick<KubeClient, "create">;
const REVIEW_DEADLINE_MS = 3000;

const boundsOf = ({ signal, deadlineMs = REVIEW_DEADLINE_MS }: ReviewBounds) => ({
  ...(signal !== undefined && { signal }),
  deadlineMs,
  honorRetryAfter: false,
});

/**
 * Asks whose token it is: for `audiences`, else for the API server's own. Returns undefined if it is not
 * accepted. Throws if there is no answer.
 */
export async function reviewToken(
  client: ReviewClient,
  { token, audiences }: { readonly token: string; readonly audiences?: readonly string[] },
  bounds: ReviewBounds = {},
): Promise<ReviewedUser | undefined> {
  const { status } = await client.create(KUBERNETES_KINDS.tokenReview, {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenReview",
    metadata: {},
    spec: { token, ...(audiences !== undefined && { audiences: [...audiences] }) },
  }, boundsOf(bounds));
  const { authenticated, audiences: given = [], user } = status ?? {};
  // Of a token that it does not know an API server says `user: {}`.
  if (authenticated !== true || !user?.username) return undefined;
  const { username, uid, groups, extra } = user;
  return { username, uid, groups, extra, audiences: given };
}

/** Creates a {@link RequestReview} over a client. */
export function createReviewRequests(client: ReviewClient): RequestReview {
  return (token, audiences, signal) => reviewToken(client, { token, audiences }, { signal });
}

/** Asks whether a user may do something. Throws if there is no answer. */
export async function reviewAccess(
  client: ReviewClient,
  { username, uid, groups = [], extra }: User,
  action: ReviewedAction,
  bounds: ReviewBounds = {},
): Promise<boolean> {
  const { status } = await client.create(KUBERNETES_KINDS.subjectAccessReview, {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    metadata: {},
    spec: {
      user: username,
      groups: [...groups],
      ...(uid === undefined ? {} : { uid }),
      ...(extra === undefined ? {} : { extra: copied(extra) }),
      resourceAttributes: attributesOf(action),
    },
  }, boundsOf(bounds));
  return status?.allowed === true && status.denied !== true;
}

function copied(extra: Readonly<Record<string, readonly string[]>>): Record<string, string[]> {
  return Object.fromEntries(Object.entries(extra).map(([key, values]) => [key, [...values]]));
}

/** Extras of a reviewed user that name the pod that the token is bound to. */
const EXTRA = {
  podName: "authentication.kubernetes.io/pod-name",
  podUid: "authentication.kubernetes.io/pod-uid",
} as const;

/** Returns names and UIDs of the pods that the user's token is bound to, as far as they are known. */
export function boundPods({ extra }: Pick<User, "extra">): {
  readonly names?: readonly string[] | undefined;
  readonly uids?: readonly string[] | undefined;
} {
  return { names: extra?.[EXTRA.podName], uids: extra?.[EXTRA.podUid] };
}
