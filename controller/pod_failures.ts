/** Failures of the pods of each job, fed by pods as they change: the first of the newest round, and how often pods were started again. */
import type { PodFailure } from "../crds/failure_of_pod.ts";
import { createBoundedCache } from "../platform/base/bounded_cache.ts";
import type { Change } from "../platform/kube/watching/informer_cache.ts";

/** Runs of jobs of which failures are remembered. The pods may be gone when their job fails. */
const REMEMBERED = 4096;
/** Replicas of a job whose restarts are counted. */
const REPLICAS_MAX = 1024;
/** Times that a replica runs before it has recovered, in milliseconds: a kubelet forgives after ten minutes, too. */
const QUIET = { times: 2, leastMs: 60_000, mostMs: 600_000 } as const;

/** A pod as a cache has it, as far as it is read here. */
interface PodLike {
  readonly metadata?: { readonly name?: string; readonly uid?: string } | undefined;
  readonly status?: { readonly phase?: string; readonly startTime?: string } | undefined;
}

/** The place of a pod in its job, and its failure. */
export interface PodPlace {
  /** Key of the job. */
  readonly job: string;
  /** What ends with a run, such as the JobSet, by its UID. */
  readonly run: string | undefined;
  /** How often all pods of the run were made again before. */
  readonly attempt: number;
  /** Whose place it has; by default that of its name. */
  readonly replica?: string | undefined;
  readonly failure: PodFailure | undefined;
}

/** A pod of a job, as far as failures go. */
type JobPod = ReturnType<typeof jobPod>;

function jobPod({ metadata, status }: PodLike, place: PodPlace) {
  const { name = "", uid = name } = metadata ?? {};
  const isRunning = status?.phase === "Running";
  return {
    ...place,
    replica: place.replica ?? name,
    uid,
    /** Since when it runs, RFC 3339; undefined if it does not. */
    runsSince: place.failure ? place.failure.runsSince : isRunning ? status.startTime : undefined,
    isFailed: status?.phase === "Failed",
  };
}

/** The failures of a job. */
export interface SeenFailures {
  /** The first of the newest round. */
  readonly first: PodFailure;
  /** How often the replica that had most of them was started again; and the same with a restart for which its kubelet waits. */
  readonly restarts: number;
  readonly withNext: number;
  /** When it will have recovered if it goes on, in milliseconds since the epoch; undefined while it does not run. */
  readonly recoversMs: number | undefined;
}

/** A replica that has failed: its newest pod, and failures before that came. */
interface Replica {
  pod: JobPod;
  before: number;
}

interface Known {
  attempt: number;
  /** Failures of the replica that had most, before the present attempt. */
  before: number;
  first: { readonly replica: string; readonly failure: PodFailure; readonly round: number };
  readonly replicas: Map<string, Replica>;
}

/** Pods of one run say nothing of another: those of a former one may be heard of late. */
const runKey = (job: string, run = "") => `${job} ${run}`;

const timeOf = ({ failure }: PodFailure) => failure.time;

/** How often a replica was started again. */
const restartsIn = ({ pod: { failure }, before }: Replica) => before + (failure?.restarts ?? 0);
/** How often it has failed: what has failed and does not run again yet was started again once less. */
const timesOf = (replica: Replica) =>
  restartsIn(replica) + (replica.pod.failure && !replica.pod.runsSince ? 1 : 0);
/** A pod that has failed as a whole may be the last one. */
const withNextIn = (replica: Replica) =>
  replica.pod.isFailed ? restartsIn(replica) : timesOf(replica);

const mostOf = ({ before, replicas }: Known, of: (replica: Replica) => number) =>
  [...replicas.values()].reduce((most, it) => Math.max(most, before + of(it)), before);

/** Takes a failure that is of a later round than the first one, or the first of its round. */
function takeFailure(known: Known, replica: Replica, failure: PodFailure): void {
  const { first } = known;
  const isLater = timeOf(failure) > timeOf(first.failure);
  const isNews = Date.parse(timeOf(failure)) > (recoversMs(known) ?? Infinity) ||
    isLater && replica.pod.replica === first.replica;
  const round = isNews ? first.round + 1 : known.before + timesOf(replica);
  const isEarlier = timeOf(failure) < timeOf(first.failure);
  if (round > first.round || round === first.round && isEarlier) {
    known.first = { replica: replica.pod.replica, failure, round };
  }
}

/** Takes the pod of a replica, which may be the next one; what is heard of one before it changes nothing. */
function takePod(known: Known, pod: JobPod, isNew: boolean): Replica | undefined {
  const replica = known.replicas.get(pod.replica);
  if (replica !== undefined) {
    const isNext = pod.uid !== replica.pod.uid;
    if (isNext && !isNew) return undefined;
    if (isNext) replica.before = timesOf(replica);
    // A pod that is deleted says nothing of what failed in it before.
    if (isNext || pod.failure !== undefined || replica.pod.failure === undefined) replica.pod = pod;
    return replica;
  }
  const matters = pod.failure !== undefined || pod.replica === known.first.replica;
  if (!matters || known.replicas.size >= REPLICAS_MAX) return undefined;
  const made: Replica = { pod, before: 0 };
  known.replicas.set(pod.replica, made);
  return made;
}

function recoversMs({ first, replicas }: Known): number | undefined {
  const newest = replicas.get(first.replica)?.pod;
  // The pod in its place came before it, and is not known.
  if (newest?.isFailed) return Date.parse(timeOf(first.failure)) + QUIET.mostMs;
  const since = Date.parse(newest?.runsSince ?? "");
  const quietMs = Math.max(QUIET.leastMs, QUIET.times * first.failure.ranMs);
  return Number.isNaN(since) ? undefined : since + Math.min(QUIET.mostMs, quietMs);
}

/** The failures, by job. */
export type PodFailures<P extends PodLike> = ReturnType<typeof createPodFailures<P>>;

/** An empty memory. `placeOf` says where a pod belongs; undefined if it is of no job. */
export function createPodFailures<P extends PodLike>(placeOf: (pod: P) => PodPlace | undefined) {
  const jobs = createBoundedCache<Known>(REMEMBERED);

  /** What is known of the run of a pod, in the pod's attempt; undefined if it is of one before. */
  function knownOf(pod: JobPod): Known | undefined {
    const known = jobs.get(runKey(pod.job, pod.run));
    if (known !== undefined) {
      if (pod.attempt > known.attempt) {
        known.before = Math.max(mostOf(known, timesOf), pod.attempt);
        known.attempt = pod.attempt;
        known.replicas.clear();
      }
      return pod.attempt < known.attempt ? undefined : known;
    }
    if (pod.failure === undefined) return undefined;
    const first = { replica: pod.replica, failure: pod.failure, round: 0 };
    const { attempt } = pod;
    const made = { attempt, before: attempt, first, replicas: new Map() };
    jobs.set(runKey(pod.job, pod.run), made);
    return made;
  }

  return {
    seen({ type, object }: Change<P>): void {
      const place = type === "deleted" ? undefined : placeOf(object);
      if (place === undefined) return;
      const pod = jobPod(object, place);
      const known = knownOf(pod);
      if (known === undefined) return;
      const replica = takePod(known, pod, type === "added");
      if (replica && pod.failure) takeFailure(known, replica, pod.failure);
    },
    /** Returns the failures of that run of the job; undefined if there are none. */
    of(job: string, run: string | undefined): SeenFailures | undefined {
      const known = jobs.get(runKey(job, run)) ?? jobs.get(runKey(job));
      if (known === undefined) return undefined;
      const { first: { failure: first } } = known;
      const [restarts, withNext] = [mostOf(known, restartsIn), mostOf(known, withNextIn)];
      return { first, restarts, withNext, recoversMs: recoversMs(known) };
    },
    /** Forgets the failures of a run that was suspended. */
    forget: (job: string, run: string | undefined): void =>
      [runKey(job, run), runKey(job)].forEach((key) => jobs.delete(key)),
  };
}
