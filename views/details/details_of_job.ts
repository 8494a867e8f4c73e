/** Details of a job: its object, its pods and the events about them, read with the viewer's rights. */
import { jobSchema, type NamedJob } from "../../crds/job_kind.ts";
import { settingsOf } from "../../crds/job_configuration.ts";
import { failureOf } from "../../crds/job_state.ts";
import { nextRestartOf, restartObstacle } from "../../crds/restartable.ts";
import { compact, type JsonObject, objectAt, textAt } from "../../platform/base/json.ts";
import { KINDS } from "../../crds/kinds.ts";
import {
  asItIs,
  type BoundedList,
  type BoundedReads,
  keeping,
  listUpTo,
  orDenied,
  readOne,
} from "./bounded_reads.ts";
import type { DetailPart, JobDetails, ShownEvent, ShownPod } from "../../crds/wire/details.ts";
import { type ReadKeptPods, withKept } from "./kept_pods.ts";
import { byRank, podsOfJob, shownEvent, shownPod } from "./shown_pods.ts";
import { wordsOfLog } from "./words_of_log.ts";
import { offerOfMachine, waitOfJob, waitsForOnlyNode } from "./wait_of_job.ts";

/** Bounds of what is read of a job. */
export const DETAIL_LIMITS = {
  pods: 1_000,
  /** Events of a namespace that are looked through for those about the job's pods. */
  eventsLookedAt: 2_000,
  eventsOfJob: 200,
  events: 200,
} as const;

/** Pods, of which no more is kept than is shown: the rest may be a megabyte each. */
export const PODS = keeping(KINDS.pod, shownPod);
const EVENTS = keeping(KINDS.event, (event) => ({
  about: event.involvedObject.uid,
  shown: shownEvent(event),
}));
const MACHINE = keeping(KINDS.node, offerOfMachine);

/** The object without what only its writers' tools read. */
function shownObject(object: JsonObject): JsonObject {
  const { managedFields: _, ...metadata } = objectAt(object, "metadata");
  return { ...object, metadata };
}

const newestFirst = (one: ShownEvent, other: ShownEvent) =>
  Date.parse(other.time ?? "") - Date.parse(one.time ?? "") || 0;

/** What is said last of a failure that is no history: by its log, if only that has it, or by the job itself. */
async function lastWordsOf(reads: BoundedReads, namespace: string, object: JsonObject) {
  const job = jobSchema.safeParse(object).data;
  const failure = job && failureOf(job);
  if (failure?.headline === undefined) return undefined;
  return await wordsOfLog(reads, namespace, failure) ?? failure.message;
}

/** Returns what this machine offers, if pods wait for it and the viewer may read its node. */
export async function machineOf(reads: BoundedReads, pods: readonly ShownPod[]) {
  if (!waitsForOnlyNode(pods)) return undefined;
  const { items, isCut } = await orDenied(listUpTo(reads, MACHINE, { most: 1 }));
  return isCut ? undefined : items[0];
}

const listEvents = (reads: BoundedReads, list: BoundedList) =>
  orDenied(listUpTo(reads, EVENTS, list));

/** What is read of the events about pods. */
const ABOUT_PODS = {
  most: DETAIL_LIMITS.eventsLookedAt,
  fieldSelector: "involvedObject.kind=Pod",
} as const;

/** Reads the events about pods of a namespace, or of all of them, the newest first. */
export async function eventsOfPods(
  reads: BoundedReads,
  place: Pick<BoundedList, "namespace">,
): Promise<readonly ShownEvent[]> {
  const { items } = await listEvents(reads, { ...ABOUT_PODS, ...place });
  return items.map(({ shown }) => shown).sort(newestFirst);
}

/**
 * Reads the details of a job, with pods that are gone and whose logs are kept. Throws what the client throws if the job
 * cannot be read.
 */
export async function jobDetails(
  reads: BoundedReads,
  { kind, namespace, name }: NamedJob,
  keptPods?: ReadKeptPods,
): Promise<JobDetails> {
  const object = await readOne(reads, asItIs(kind), { namespace, name });
  const uid = textAt(object, "metadata", "uid") ?? "";
  const labelSelector = podsOfJob(kind, name);
  const ofThis = `involvedObject.uid=${uid}`;
  const [pods, ofJob, ofAll, kept, lastWords] = await Promise.all([
    orDenied(listUpTo(reads, PODS, { most: DETAIL_LIMITS.pods, namespace, labelSelector })),
    listEvents(reads, { most: DETAIL_LIMITS.eventsOfJob, namespace, fieldSelector: ofThis }),
    listEvents(reads, { ...ABOUT_PODS, namespace }),
    keptPods?.(reads, { namespace, labelSelector, job: uid }),
    lastWordsOf(reads, namespace, object),
  ]);
  const uids = new Set<string | undefined>(pods.items.map(({ uid }) => uid));
  const about = [...ofJob.items, ...ofAll.items.filter(({ about }) => uids.has(about))]
    .map(({ shown }) => shown).sort(newestFirst);
  const wait = waitOfJob(pods.items, about, await machineOf(reads, pods.items));
  const parts = (arePods = false, areEvents = false): DetailPart[] => [
    ...(arePods ? ["pods" as const] : []),
    ...(areEvents ? ["events" as const] : []),
  ];
  const denied = parts(pods.isDenied, ofJob.isDenied);
  const areEventsCut = ofJob.isCut || ofAll.isCut || about.length > DETAIL_LIMITS.events;
  const cut = parts(pods.isCut, areEventsCut);
  const { data: job } = jobSchema.safeParse(object);
  const canRestart = job !== undefined && restartObstacle(kind, job) === undefined;
  return {
    object: shownObject(object),
    configuration: settingsOf(object),
    pods: withKept(pods.items, kept).toSorted(byRank),
    events: about.slice(0, DETAIL_LIMITS.events),
    ...compact({ wait, lastWords }),
    ...(canRestart && { nextRestart: nextRestartOf(job) }),
    ...(kept !== undefined && { keepsLogs: true }),
    ...(denied.length > 0 && { denied }),
    ...(cut.length > 0 && { cut }),
  };
}
