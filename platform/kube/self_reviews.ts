/** Reviews of the client's own user: its name, and what it may do. */
import type { KubeClient } from "./client.ts";
import type { SelfSubjectAccessReview, SelfSubjectReview } from "./kubernetes.ts";
import { builtIn, KUBERNETES_KINDS } from "./kubernetes_kinds.ts";
import type { Kind } from "./resource.ts";

const ACCESS = builtIn<SelfSubjectAccessReview>(
  KUBERNETES_KINDS.subjectAccessReview.group,
  "SelfSubjectAccessReview",
  false,
);
const SELF = builtIn<SelfSubjectReview>(
  KUBERNETES_KINDS.tokenReview.group,
  "SelfSubjectReview",
  false,
);

const DEADLINE_MS = 10_000;

/** What is asked about. */
export interface ReviewedAction {
  readonly verb: string;
  readonly kind: Pick<Kind<unknown>, "group" | "version" | "plural">;
  readonly subresource?: string;
  /** Absent: every namespace. */
  readonly namespace?: string | undefined;
  /** Absent: every object. */
  readonly name?: string | undefined;
}

/** Returns the action as reviews of access describe it. */
export const attributesOf = (
  { verb, kind: { group, version, plural: resource }, ...where }: ReviewedAction,
) => ({ verb, group: group || undefined, version, resource, ...where });

type Client = Pick<KubeClient, "create">;

/** Returns whether the client's own user may do that. */
export async function mayDo(
  client: Client,
  action: ReviewedAction,
  signal: AbortSignal,
): Promise<boolean> {
  const asked = { spec: { resourceAttributes: attributesOf(action) } };
  const { status } = await client.create(ACCESS, asked, { signal, deadlineMs: DEADLINE_MS });
  return status?.allowed === true;
}

/** Returns the name of the client's own user; undefined if the API server does not say. */
export async function ownName(client: Client, signal: AbortSignal): Promise<string | undefined> {
  try {
    const { status } = await client.create(SELF, {}, { signal, deadlineMs: DEADLINE_MS });
    return status?.userInfo?.username;
  } catch {
    // Before Kubernetes 1.28 there is no such review. It is a name to be shown, and nothing more.
    return undefined;
  }
}
