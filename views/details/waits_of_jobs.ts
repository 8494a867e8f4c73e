/** Waits of several jobs, for a list of them: by one read of the pods that have not begun to run, with the viewer's rights. */
import type { JobKinds } from "../../crds/job_kinds.ts";
import { KINDS } from "../../crds/kinds.ts";
import type { ShownPod } from "../../crds/wire/details.ts";
import type { JobName, JobRow } from "../../crds/wire/row.ts";
import { type BoundedReads, keeping, listUpTo, orDenied } from "./bounded_reads.ts";
import { eventsOfPods, machineOf } from "./details_of_job.ts";
import { shownPod } from "./shown_pods.ts";
import { isWaitUntold, waitOfJob } from "./wait_of_job.ts";

/** Pods of all jobs together that are read, of each namespace. */
export const MOST_WAITING_PODS = 1_000;

/** What jobs wait for, by their UIDs. */
export type Waits = ReadonlyMap<string, string>;

const WAITING = keeping(KINDS.pod, (pod) => ({ ...pod.metadata, shown: shownPod(pod) }));
const PENDING = "status.phase=Pending";

const keyOf = ({ kind, namespace, name }: JobName) => `${kind}/${namespace}/${name}`;

/** Returns whether a job may be waiting: none of its pods runs. */
export const mayWait = ({ state }: JobRow): boolean => state === "Created";

/**
 * Reads what those of the jobs wait for that have not begun to run, in the words of the details of one job. `namespaces`
 * are read, without any all of them. Nothing is known of jobs whose pods the viewer may not list, or are too many to be
 * read. Throws what the client throws.
 */
export async function waitsOfJobs(
  reads: BoundedReads,
  kinds: Pick<JobKinds, "ofPod">,
  jobs: readonly JobRow[],
  namespaces: readonly string[],
): Promise<Waits> {
  const waiting = new Map(jobs.filter(mayWait).map((job) => [keyOf(job), job.uid]));
  if (waiting.size === 0) return new Map();

  async function podsIn(place: { readonly namespace?: string }) {
    const wanted = { most: MOST_WAITING_PODS, fieldSelector: PENDING, ...place };
    const { items } = await orDenied(listUpTo(reads, WAITING, wanted));
    const found = items.flatMap(({ namespace = "", labels = {}, shown }) =>
      kinds.ofPod(labels).flatMap(({ id: kind, podLabels }) => {
        const job = waiting.get(keyOf({ kind, namespace, name: labels[podLabels.jobName] ?? "" }));
        return job === undefined ? [] : [{ job, shown }];
      })
    );
    const pods: readonly ShownPod[] = found.map(({ shown }) => shown);
    const [events, machine] = await Promise.all([
      pods.some(isWaitUntold) ? eventsOfPods(reads, place) : [],
      machineOf(reads, pods),
    ]);
    return [...Map.groupBy(found, ({ job }) => job)].flatMap(([job, ofJob]) => {
      const wait = waitOfJob(ofJob.map(({ shown }) => shown), events, machine);
      return wait === undefined ? [] : [[job, wait] as const];
    });
  }

  const places = namespaces.length === 0 ? [{}] : namespaces.map((namespace) => ({ namespace }));
  return new Map((await Promise.all(places.map(podsIn))).flat());
}

/** Returns the rows, each with what its job waits for as why it is in its state. */
export const withWaits = (rows: readonly JobRow[], waits: Waits): readonly JobRow[] =>
  rows.map((row) => {
    const message = mayWait(row) ? waits.get(row.uid) : undefined;
    return message === undefined ? row : { ...row, message };
  });
