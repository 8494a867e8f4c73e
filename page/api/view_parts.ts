/** Parts of what is read for the page, and the checks of a request for it. */
import {
  type AnyJob,
  type JobKind,
  type JobRef,
  jobRefOf,
  type NamedJob,
} from "../../crds/job_kind.ts";
import type { JobKinds } from "../../crds/job_kinds.ts";
import type { Identified, ReaderParts } from "../../platform/http/callers/reader_checks.ts";
import type { Refusal } from "../../platform/http/refusals.ts";
import type { Reader } from "../../platform/http/callers/reader_access.ts";
import type { StreamSlots } from "../../platform/http/limits/stream_limits.ts";
import type { JobList } from "../../views/list/job_list.ts";
import type { ListInTurn } from "./list_turns.ts";
import type { FollowedCurves } from "../../views/followed_curves.ts";
import { type ReaderScope, readerScope } from "./scope.ts";

/** The parts. */
export interface ViewParts extends ReaderParts, FollowedCurves {
  readonly kinds: JobKinds;
  /** Returns the kinds that are run, or watched, now: only they can have jobs. */
  readonly runningKinds: () => readonly JobKind[];
  readonly list: JobList;
  /** Reads the list in turn: that takes time which others need, too. */
  readonly listInTurn: ListInTurn;
  /** Returns the job as its cache has it now. */
  readonly cached: (job: NamedJob) => AnyJob | undefined;
  /** The namespaces that are asked about where a query names none. Default: none. */
  readonly namespaces?: readonly string[];
  /** Room for streams, which all streams of the endpoint share. */
  readonly slots: Pick<StreamSlots, "take" | "open">;
  /** 0 to 1, for jitter. Default `Math.random`. */
  readonly random?: () => number;
}

/** Returns the scope of a reader over the kinds and namespaces that a query names. */
export function scopeOf(
  parts: ViewParts,
  reader: Reader,
  { kind, namespace }: { readonly kind: readonly string[]; readonly namespace: readonly string[] },
): Promise<ReaderScope | Refusal> {
  const kinds = parts.runningKinds().filter(({ id }) => kind.length === 0 || kind.includes(id));
  if (namespace.length > 0) return readerScope(parts, reader, { kinds, namespaces: namespace });
  return readerScope(parts, reader, { kinds, namespaces: parts.namespaces ?? [], orAll: true });
}

/** The jobs of a query that the reader may see and that are there, and the others. */
export interface SeenJobs {
  readonly seen: readonly JobRef[];
  /** Not there, or not for this reader: the answer does not tell which. */
  readonly missing: readonly NamedJob[];
}

/** Returns which of the jobs a reader may see: of the kinds and namespaces that it may list. */
export async function seenJobs(
  parts: ViewParts,
  { reader }: Pick<Identified, "reader">,
  jobs: readonly NamedJob[],
): Promise<SeenJobs | Refusal> {
  if (jobs.length === 0) return { seen: [], missing: [] };
  const scope = await readerScope(parts, reader, {
    kinds: [...new Set(jobs.map(({ kind }) => kind))],
    namespaces: [...new Set(jobs.map(({ namespace }) => namespace))],
  });
  if ("why" in scope) return scope.why === "forbidden" ? { seen: [], missing: jobs } : scope;
  const found = jobs.map((job) => {
    const object = scope.allows(job.kind, job.namespace) ? parts.cached(job) : undefined;
    return { job, ref: object && jobRefOf(job.kind, object) };
  });
  return {
    seen: found.flatMap(({ ref }) => ref === undefined ? [] : [ref]),
    missing: found.flatMap(({ job, ref }) => ref === undefined ? [job] : []),
  };
}
