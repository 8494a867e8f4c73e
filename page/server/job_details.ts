/** Details of a job: its object, its pods and the events about them, read with the viewer's rights. */
import type { JobKind } from "../../crds/job_kind.ts";
import { type JsonObject, objectAt, textAt } from "../../crds/json.ts";
import { KINDS } from "../../crds/kinds.ts";
import type { CoreEvent } from "../../crds/kubernetes.ts";
import type { KubeClient } from "../../kube/client.ts";
import { asItIs, listUpTo, orDenied } from "./bounded_list.ts";
import {
  byRank,
  podsOfJob,
  type ShownEvent,
  shownEvent,
  type ShownPod,
  shownPod,
} from "./shown_pods.ts";

/** Bounds of what is read of a job. */
export const DETAIL_LIMITS = {
  pods: 1_000,
  /** Events of a namespace that are looked through for those about the job's pods. */
  eventsLookedAt: 2_000,
  eventsOfJob: 200,
  events: 200,
  page: 500,
  deadlineMs: 10_000,
} as const;

/** A job by kind and name. */
export interface NamedJob {
  readonly kind: JobKind;
  readonly namespace: string;
  readonly name: string;
}

/** What is shown of a job. */
export interface JobDetails {
  readonly object: JsonObject;
  readonly pods: readonly ShownPod[];
  /** The newest first. */
  readonly events: readonly ShownEvent[];
  /** What the viewer may not read: then there is none of it here. */
  readonly denied?: readonly ("pods" | "events")[];
  /** What there is more of than this. */
  readonly cut?: readonly ("pods" | "events")[];
}

/** The object without what only its writers' tools read. */
function shownObject(object: JsonObject): JsonObject {
  const { managedFields: _, ...metadata } = objectAt(object, "metadata");
  return { ...object, metadata };
}

const newestFirst = (one: ShownEvent, other: ShownEvent) =>
  Date.parse(other.time ?? "") - Date.parse(one.time ?? "") || 0;

/** Reads the details of a job. Throws what the client throws if the job cannot be read. */
export async function jobDetails(
  client: Pick<KubeClient, "get" | "list">,
  { kind, namespace, name }: NamedJob,
  signal: AbortSignal,
): Promise<JobDetails> {
  const { deadlineMs, page } = DETAIL_LIMITS;
  const bounds = { page, deadlineMs, signal };
  const object = await client.get(asItIs(kind), { namespace, name }, { signal, deadlineMs });
  const uid = textAt(object, "metadata", "uid") ?? "";
  const events = (most: number, fieldSelector: string) =>
    orDenied<CoreEvent>(
      listUpTo(client, KINDS.event, { ...bounds, most, namespace, fieldSelector }),
    );
  const [pods, ofJob, ofAll] = await Promise.all([
    orDenied(
      listUpTo(client, KINDS.pod, {
        ...bounds,
        most: DETAIL_LIMITS.pods,
        namespace,
        labelSelector: podsOfJob(kind, name),
      }),
    ),
    events(DETAIL_LIMITS.eventsOfJob, `involvedObject.uid=${uid}`),
    events(DETAIL_LIMITS.eventsLookedAt, "involvedObject.kind=Pod"),
  ]);
  const uids = new Set(pods.items.map(({ metadata }) => metadata?.uid));
  const about = [
    ...ofJob.items,
    ...ofAll.items.filter(({ involvedObject }) => uids.has(involvedObject.uid)),
  ].map(shownEvent).sort(newestFirst);
  const denied = [
    ...(pods.isDenied ? ["pods" as const] : []),
    ...(ofJob.isDenied ? ["events" as const] : []),
  ];
  const cut = [
    ...(pods.isCut ? ["pods" as const] : []),
    ...(ofJob.isCut || ofAll.isCut || about.length > DETAIL_LIMITS.events
      ? ["events" as const]
      : []),
  ];
  return {
    object: shownObject(object),
    pods: pods.items.map(shownPod).sort(byRank),
    events: about.slice(0, DETAIL_LIMITS.events),
    ...(denied.length > 0 && { denied }),
    ...(cut.length > 0 && { cut }),
  };
}
