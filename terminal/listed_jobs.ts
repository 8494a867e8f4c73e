/** Jobs as they are now, of all kinds that the user may list: read once, and not watched. */
import type { JobKind } from "../crds/job_kind.ts";
import type { JobRow } from "../crds/wire/row.ts";
import { ignoring, isNotFound, messageOf } from "../platform/kube/errors.ts";
import { servedOf } from "../platform/kube/watching/served_kinds.ts";
import { boundedReads, keeping, listUpTo, orDenied } from "../views/details/bounded_reads.ts";
import { waitsOfJobs, withWaits } from "../views/details/waits_of_jobs.ts";
import { rowOf } from "../views/list/job_row.ts";
import type { TerminalCluster } from "./terminal_cluster.ts";

/** Jobs of one kind that are read, of each namespace. */
export const MOST_LISTED = 10_000;

/** The jobs. */
export interface ListedJobs {
  /** The newest first. */
  readonly rows: readonly JobRow[];
  /** What is not shown, and why, as sentences. */
  readonly missing: readonly string[];
}

const newestFirst = (one: JobRow, other: JobRow) =>
  Date.parse(other.created) - Date.parse(one.created) || (one.name < other.name ? -1 : 1);

/** Lists those of these kinds; of each kind and namespace at most so many. Throws what the client throws. */
export async function listedJobs(
  { client, namespaces }: Pick<TerminalCluster, "client" | "namespaces">,
  kinds: readonly JobKind[],
  signal: AbortSignal,
  most = MOST_LISTED,
): Promise<ListedJobs> {
  const reads = boundedReads(client, signal);
  const missing: string[] = [];

  async function rowsOf(kind: JobKind, namespace: string | undefined): Promise<readonly JobRow[]> {
    const where = namespace === undefined ? "all namespaces" : namespace;
    const read = keeping(kind, (job) => rowOf(kind, job));
    const wanted = { most, ...(namespace !== undefined && { namespace }) };
    const found = await orDenied(listUpTo(reads, read, wanted)).catch(ignoring(isNotFound));
    // A version that could not be asked about may lack the kind.
    if (found === undefined) return [];
    if (found.isDenied) missing.push(`the user may not list ${kind.plural} in ${where}`);
    if (found.isCut) missing.push(`some ${kind.plural} in ${where}: ${most} are read`);
    return found.items;
  }

  const served = await servedOf(client, kinds, signal);
  if (served.length === 0) {
    missing.push("the cluster serves none of the kinds of jobs that Milepost knows");
  }
  const places = namespaces.length === 0 ? [undefined] : namespaces;
  const lists = served.flatMap((kind) => places.map((namespace) => rowsOf(kind, namespace)));
  const rows = (await Promise.all(lists)).flat().sort(newestFirst);
  return { rows, missing: missing.sort() };
}

/** Adds to listed jobs what they wait for. Where that cannot be read they are as they are, and it is not shown. */
export async function withWaitsRead(
  { client, kinds, namespaces }: Pick<TerminalCluster, "client" | "kinds" | "namespaces">,
  { rows, missing }: ListedJobs,
  signal: AbortSignal,
): Promise<ListedJobs> {
  try {
    const waits = await waitsOfJobs(boundedReads(client, signal), kinds, rows, namespaces);
    return { rows: withWaits(rows, waits), missing };
  } catch (error) {
    signal.throwIfAborted();
    return { rows, missing: [...missing, `what jobs wait for: ${messageOf(error)}`] };
  }
}
