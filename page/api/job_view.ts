/** View of jobs made here: lists from caches of this process, curves from a mirror of the manager's. */
import type { AnyJob, JobKind } from "../../crds/job_kind.ts";
import type { JobKinds } from "../../crds/job_kinds.ts";
import type { ReaderParts } from "../../platform/http/callers/reader_checks.ts";
import { createStreamSlots, type StreamLimits } from "../../platform/http/limits/stream_limits.ts";
import type { HttpHandler } from "../../platform/http/message.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import type { Clock } from "../../platform/base/clock.ts";
import {
  createServedInformer,
  type ServedInformer,
} from "../../platform/kube/watching/served_informer.ts";
import { createSemaphore } from "../../platform/base/semaphore.ts";
import { createListTurns } from "./list_turns.ts";
import { createViewApi } from "./view_api.ts";
import type { FollowedCurves } from "../../views/followed_curves.ts";
import type { ViewParts } from "./view_parts.ts";
import { createJobList } from "../../views/list/job_list.ts";

/** Pages of lists that are in memory at a time. */
const PAGES_AT_A_TIME = 2;

/** Part of a core that reads of lists may take, for which the process is there. */
const LISTING_PART = 0.5;

/** The jobs of one kind. */
export type JobCache = Pick<
  ServedInformer<AnyJob>,
  "get" | "list" | "onChange" | "resting" | "wasSynced"
>;

/** Options of {@link createJobView}. */
export interface JobViewOptions extends FollowedCurves, Pick<ViewParts, "namespaces"> {
  readonly kinds: JobKinds;
  readonly caches: ReadonlyMap<JobKind, JobCache>;
  readonly readers: ReaderParts;
  readonly streams: StreamLimits;
}

/** The view. */
export interface JobView {
  readonly handle: HttpHandler;
  /** Returns the kinds whose first list is not there yet. */
  unsynced(): string[];
  close(): void;
}

/** Creates caches of all jobs; a kind that is not served, or that the client may not list, has none. */
export function createJobCaches(
  { client, clock, kinds }: {
    readonly client: KubeClient;
    readonly clock: Clock;
    readonly kinds: JobKinds;
  },
) {
  const places = createSemaphore(PAGES_AT_A_TIME);
  return new Map(
    kinds.all.map((kind) => [
      kind,
      createServedInformer<AnyJob>({ client, clock, kind, places }),
    ]),
  );
}

/** Creates it. */
export function createJobView(options: JobViewOptions): JobView {
  const { kinds, caches, readers, streams, ask, follow, namespaces } = options;
  const jobs = new Map([...caches].map(([kind, cache]) => [kind, { jobs: cache }]));
  const list = createJobList({ jobs });
  const api = createViewApi({
    ...readers,
    kinds,
    runningKinds: () => kinds.all.filter((kind) => caches.get(kind)?.resting === false),
    slots: createStreamSlots(streams),
    list,
    listInTurn: createListTurns(readers.clock, LISTING_PART),
    cached: ({ kind, namespace, name }) => caches.get(kind)?.get({ namespace, name }),
    ask,
    follow,
    ...(namespaces && { namespaces }),
  });
  return {
    handle: (request) => api.handle(request),
    unsynced: () => [...caches].filter(([, it]) => !it.wasSynced).map(([{ plural }]) => plural),
    close: () => list.close(),
  };
}
