/** List of the jobs of all kinds, from the caches: each row is made once for each version of its job. */
import type { AnyJob, JobKind } from "../../crds/job_kind.ts";
import type { TrainerStatus } from "../../crds/trainjob.ts";
import { createBoundedCache } from "../../platform/base/bounded_cache.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { sameJson } from "../../platform/base/json.ts";
import { createListeners } from "../../platform/base/listeners.ts";
import type { Informer } from "../../platform/kube/watching/informer.ts";
import { isRemoval } from "../../platform/kube/watching/informer_cache.ts";
import { rowOf, rowWith, rowWithConfiguration } from "./job_row.ts";
import type { JobRow, ListWindow } from "../../crds/wire/row.ts";
import type { ListQuery } from "../../crds/wire/list_query.ts";
import { type OrderedList, orderedList, windowIn } from "./list_window.ts";
import { type KindedRow, OrderedRows } from "./ordered_rows.ts";
import { orderKey } from "./row_sorting.ts";

/** The kinds of which a reader may see the jobs of a namespace. */
export interface Scope {
  /** Stands for all of this in memory: equal scopes have equal keys. */
  readonly key: string;
  allows(kind: JobKind, namespace: string): boolean;
}

/** What jobs have pushed to this replica, which is newer than their objects. */
export interface PushedProgress {
  /** Returns the newest that the job pushed; undefined if that is not known here. */
  newestOf(jobUid: string): TrainerStatus | undefined;
  /** Calls the listener after each push. Returns a function that ends this. */
  onPush(listener: () => void): () => void;
  readonly clock: Pick<Clock, "sleep">;
}

/** Pushes within this time are told of together, in milliseconds. */
const TOGETHER_MS = 20;
/** Lists that are kept until a job changes: viewers of one list look at parts of it. */
const MAX_LISTS = 64;
/** Orders of all rows that are kept as jobs change, and changes after which one that nobody views is not. */
const [MAX_ORDERS, MAX_CHANGES] = [24, 2_000];

/** Creates the list. */
export function createJobList({ jobs, pushed }: {
  /** The caches of jobs by their kind. */
  readonly jobs: ReadonlyMap<
    JobKind,
    { readonly jobs: Pick<Informer<AnyJob>, "list" | "onChange"> }
  >;
  /** Shown instead of what the objects say, which orders the rows. Default: nothing is pushed here. */
  readonly pushed?: PushedProgress;
}) {
  const rows = new WeakMap<AnyJob, JobRow>();
  const objects = new WeakMap<JobRow, AnyJob>();
  /** Rows as they are shown with configuration. */
  const configured = new WeakMap<JobRow, JobRow>();
  const lists = createBoundedCache<{ readonly version: number; readonly list: OrderedList }>(
    MAX_LISTS,
  );
  const orders = createBoundedCache<OrderedRows>(MAX_ORDERS);
  const listeners = createListeners();
  /** The rows with what was pushed. */
  const newest = new WeakMap<TrainerStatus, { readonly of: JobRow; readonly row: JobRow }>();
  const closed = new AbortController();
  let version = 0;
  let isTelling = false;
  const stops = [...jobs].map(([kind, cache]) =>
    cache.jobs.onChange((change) => {
      version += 1;
      const { object } = change;
      for (const [key, order] of orders.entries()) {
        const row = isRemoval(change) ? undefined : { kind, row: rowOnce(kind, object) };
        if (order.change(object.metadata.uid ?? "", row) > MAX_CHANGES) orders.delete(key);
      }
      listeners.notify();
    })
  );
  const stopPushes = pushed?.onPush(async () => {
    if (isTelling) return;
    isTelling = true;
    await pushed.clock.sleep(TOGETHER_MS, closed.signal);
    isTelling = false;
    listeners.notify();
  });

  /** The same row while nothing of it has changed: the write of what was pushed is no news. */
  function newestRow(row: JobRow): JobRow {
    const progress = pushed?.newestOf(row.uid);
    if (progress === undefined) return row;
    const known = newest.get(progress);
    if (known?.of === row) return known.row;
    const made = rowWith(row, progress);
    const kept = known !== undefined && sameJson(known.row, made) ? known.row : made;
    newest.set(progress, { of: row, row: kept });
    return kept;
  }

  function configuredRow(row: JobRow): JobRow {
    const [shown, job] = [newestRow(row), objects.get(row)];
    const known = configured.get(shown);
    if (known !== undefined || job === undefined) return known ?? shown;
    const made = rowWithConfiguration(shown, job);
    configured.set(shown, made);
    return made;
  }

  function rowOnce(kind: JobKind, job: AnyJob): JobRow {
    const known = rows.get(job);
    if (known !== undefined) return known;
    const row = rowOf(kind, job);
    rows.set(job, row);
    objects.set(row, job);
    return row;
  }

  function* all(): Generator<KindedRow> {
    for (const [kind, cache] of jobs) {
      for (const job of cache.jobs.list()) yield { kind, row: rowOnce(kind, job) };
    }
  }

  function orderOnce(query: ListQuery): OrderedRows {
    const key = orderKey(query);
    const known = orders.get(key);
    if (known !== undefined) return known;
    const order = new OrderedRows(all(), query);
    orders.set(key, order);
    return order;
  }

  function* allowed(query: ListQuery, scope: Scope): Generator<JobRow> {
    for (const { kind, row } of orderOnce(query).rows()) {
      if (scope.allows(kind, row.namespace)) yield row;
    }
  }

  function listOnce(query: ListQuery, scope: Scope): OrderedList {
    const key = JSON.stringify([scope.key, { ...query, offset: 0, limit: 0 }]);
    const known = lists.get(key);
    if (known?.version === version) return known.list;
    const list = orderedList(allowed(query, scope), query);
    lists.set(key, { version, list });
    return list;
  }

  return {
    /** Returns the window of a query over the jobs that the scope allows. */
    window(query: ListQuery, scope: Scope): ListWindow {
      const { rows, ...window } = windowIn(listOnce(query, scope), query);
      return { ...window, rows: rows.map(query.configuration ? configuredRow : newestRow) };
    },
    /** Grows with each change of any job. */
    get version(): number {
      return version;
    },
    /** Calls the listener after each change. Returns a function that ends this. */
    onChange: listeners.add,
    close(): void {
      closed.abort();
      stopPushes?.();
      for (const stop of stops) stop();
    },
  };
}

/** The list. */
export type JobList = ReturnType<typeof createJobList>;
