/** List of the jobs of all kinds, from the caches: each row is made once for each version of its job. */
import type { AnyJob, JobKind } from "../../crds/job_kind.ts";
import { createBoundedCache } from "../../kube/bounded_cache.ts";
import type { Informer } from "../../kube/informer.ts";
import { type JobRow, rowOf } from "./job_row.ts";
import type { ListQuery } from "./list_query.ts";
import { type ListWindow, windowOf } from "./list_window.ts";

/** The kinds of which a reader may see the jobs of a namespace. */
export interface Scope {
  /** Stands for all of this in memory: equal scopes have equal keys. */
  readonly key: string;
  allows(kind: JobKind, namespace: string): boolean;
}

/** The list. */
export interface JobList {
  /** Returns the window of a query over the jobs that the scope allows. */
  window(query: ListQuery, scope: Scope): ListWindow;
  /** Grows with each change of any job. */
  readonly version: number;
  /** Calls the listener after each change. Returns a function that ends this. */
  onChange(listener: () => void): () => void;
  close(): void;
}

/** Options of {@link createJobList}. */
export interface JobListOptions {
  /** The caches of jobs by their kind. */
  readonly jobs: ReadonlyMap<
    JobKind,
    { readonly jobs: Pick<Informer<AnyJob>, "list" | "onChange"> }
  >;
}

/** Windows that are kept until a job changes: viewers of the same list look at one. */
const MAX_WINDOWS = 64;

/** Creates the list. */
export function createJobList({ jobs }: JobListOptions): JobList {
  const rows = new WeakMap<AnyJob, JobRow>();
  const windows = createBoundedCache<{ readonly version: number; readonly window: ListWindow }>(
    MAX_WINDOWS,
  );
  const listeners = new Set<() => void>();
  let version = 0;
  const stops = [...jobs.values()].map((cache) =>
    cache.jobs.onChange(() => {
      version += 1;
      for (const listener of listeners) listener();
    })
  );

  function rowOnce(kind: JobKind, job: AnyJob): JobRow {
    const known = rows.get(job);
    if (known !== undefined) return known;
    const row = rowOf(kind, job);
    rows.set(job, row);
    return row;
  }

  function* allowed(scope: Scope): Generator<JobRow> {
    for (const [kind, cache] of jobs) {
      for (const job of cache.jobs.list()) {
        if (scope.allows(kind, job.metadata.namespace ?? "")) yield rowOnce(kind, job);
      }
    }
  }

  return {
    window(query, scope) {
      const key = JSON.stringify([scope.key, query]);
      const known = windows.get(key);
      if (known?.version === version) return known.window;
      const window = windowOf(allowed(scope), query);
      windows.set(key, { version, window });
      return window;
    },
    get version() {
      return version;
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close() {
      for (const stop of stops) stop();
    },
  };
}
