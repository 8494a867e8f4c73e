/** View of jobs: lists from caches of this process, curves of whoever has them. */
import type { AnyJob, JobKind } from "../../crds/job_kind.ts";
import type { JobKinds } from "../../crds/job_kinds.ts";
import type { ReaderParts } from "../../platform/http/callers/reader_checks.ts";
import { createStreamSlots, type StreamLimits } from "../../platform/http/limits/stream_limits.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import type { Clock } from "../../platform/base/clock.ts";
import type { Informer } from "../../platform/kube/watching/informer.ts";
import {
  createServedInformer,
  type ServedInformer,
} from "../../platform/kube/watching/served_informer.ts";
import { createSemaphore } from "../../platform/base/semaphore.ts";
import { createListTurns } from "./list_turns.ts";
import { createViewApi, type ViewApiOptions } from "./view_api.ts";
import type { FollowedCurves } from "../../views/followed_curves.ts";
import { createJobList, type PushedProgress } from "../../views/list/job_list.ts";

/** Pages of lists that are in memory at a time. */
const PAGES_AT_A_TIME = 2;

/** Part of a core that reads of lists may take in a process that is there for them. */
const LISTING_PART = 0.5;
/** The same where pushes are taken in the same process. */
export const LISTING_PART_BESIDE_PUSHES = 0.08;

/** Options of {@link createJobView}. */
export interface JobViewOptions
  extends
    FollowedCurves,
    Pick<ViewApiOptions, "kinds" | "runningKinds" | "slots" | "namespaces" | "onRead"> {
  /** The checks of readers. */
  readonly readers: ReaderParts;
  /** The caches of jobs by their kind. */
  readonly jobs: ReadonlyMap<
    JobKind,
    { readonly jobs: Pick<Informer<AnyJob>, "get" | "list" | "onChange"> }
  >;
  /** What jobs have pushed to this process. Default: nothing is pushed here. */
  readonly pushed?: PushedProgress;
}

/** Creates the view; `close` stops listening to the caches. */
export function createJobView({ readers, jobs, pushed, ...parts }: JobViewOptions) {
  const list = createJobList({ jobs, ...(pushed && { pushed }) });
  const part = pushed === undefined ? LISTING_PART : LISTING_PART_BESIDE_PUSHES;
  const api = createViewApi({
    ...readers,
    ...parts,
    list,
    listInTurn: createListTurns(readers.clock, part),
    cached: ({ kind, namespace, name }) => jobs.get(kind)?.jobs.get({ namespace, name }),
  });
  return { ...api, close: list.close };
}

/** The jobs of all kinds; of one that is not served, or that the client may not list, there are none. */
export type JobCaches = ReadonlyMap<JobKind, ServedInformer<AnyJob>>;

/** Creates caches of all jobs. */
export function createJobCaches(
  { client, clock, kinds }: {
    readonly client: KubeClient;
    readonly clock: Clock;
    readonly kinds: JobKinds;
  },
): JobCaches {
  const places = createSemaphore(PAGES_AT_A_TIME);
  return new Map(
    kinds.all.map((kind) => [
      kind,
      createServedInformer<AnyJob>({ client, clock, kind, places }),
    ]),
  );
}

/** Creates the view over caches of jobs that run elsewhere. */
export const createViewOfCaches = (
  { caches, streams, ...options }: Omit<JobViewOptions, "jobs" | "runningKinds" | "slots"> & {
    readonly caches: JobCaches;
    readonly streams: StreamLimits;
  },
) =>
  createJobView({
    ...options,
    jobs: new Map([...caches].map(([kind, jobs]) => [kind, { jobs }])),
    runningKinds: () => options.kinds.all.filter((kind) => caches.get(kind)?.resting === false),
    slots: createStreamSlots(streams),
  });
