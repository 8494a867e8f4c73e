/** Rights of the viewer, as the API server says of the user itself. */
import { z } from "zod";
import type { JobRights } from "../../crds/wire/details.ts";
import { KINDS } from "../../crds/kinds.ts";
import type { Kind } from "../../platform/kube/resource.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import type { NamedJob } from "./job_details.ts";

const reviewSchema = z.looseObject({
  metadata: z.looseObject({}).optional(),
  spec: z.looseObject({}).optional(),
  status: z.looseObject({
    allowed: z.boolean().optional(),
    userInfo: z.looseObject({ username: z.string() }).optional(),
  }).optional(),
});
type SelfReview = z.infer<typeof reviewSchema>;

function selfReview(group: string, kind: string, plural: string): Kind<SelfReview> {
  const { version } = KINDS.subjectAccessReview;
  return { group, version, kind, plural, namespaced: false, parse: (it) => reviewSchema.parse(it) };
}

const ACCESS = selfReview(
  KINDS.subjectAccessReview.group,
  "SelfSubjectAccessReview",
  "selfsubjectaccessreviews",
);
const SELF = selfReview(KINDS.tokenReview.group, "SelfSubjectReview", "selfsubjectreviews");

const DEADLINE_MS = 10_000;

/** What is asked about. */
export interface ReviewedAction {
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
}

type Client = Pick<KubeClient, "create">;

/** Returns whether the client's own user may do that. */
export async function mayDo(
  client: Client,
  resourceAttributes: ReviewedAction,
  signal: AbortSignal,
): Promise<boolean> {
  const { apiVersion, kind } = {
    apiVersion: `${ACCESS.group}/${ACCESS.version}`,
    kind: ACCESS.kind,
  };
  const asked = { apiVersion, kind, spec: { resourceAttributes } };
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

/** Asks what the viewer may do with a job; `canStop`: whether there is a manager that would stop one. */
export async function rightsOn(
  client: Client,
  { kind, namespace, name }: NamedJob,
  { canStop, signal }: { readonly canStop: boolean; readonly signal: AbortSignal },
): Promise<JobRights> {
  const { group, version, plural: resource } = kind;
  const onJob = (verb: string) =>
    mayDo(client, { verb, group, version, resource, namespace, name }, signal);
  const pods = { group: KINDS.pod.group, version: KINDS.pod.version, resource: KINDS.pod.plural };
  const [patch, update, remove, logs] = await Promise.all([
    onJob("patch"),
    canStop ? onJob("update") : false,
    onJob("delete"),
    mayDo(client, { verb: "get", ...pods, subresource: "log", namespace }, signal),
  ]);
  return { suspend: patch, resume: patch, stop: update, delete: remove, logs };
}
