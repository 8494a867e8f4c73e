/** Reading of one job for the terminal: found by its name, with pods, events and curves. */
import { type JobRef, jobSchema } from "../crds/job_kind.ts";
import { restartsOf, timeSpentOf } from "../crds/job_state.ts";
import { compact } from "../platform/base/json.ts";
import { ConfigurationError, isForbidden, isNotFound, messageOf } from "../platform/kube/errors.ts";
import { didYouMean } from "../platform/base/similar_names.ts";
import { rowOf } from "../views/list/job_row.ts";
import { boundedReads } from "../views/details/bounded_reads.ts";
import { DETAIL_LIMITS, jobDetails } from "../views/details/details_of_job.ts";
import { oneOfEachRank } from "../views/details/kept_pods.ts";
import type { JobFacts } from "./job_report.ts";
import { listedJobs } from "./listed_jobs.ts";
import type { KindNames, TerminalCluster } from "./terminal_cluster.ts";

/** `[KIND/]NAME` as it was typed. */
export interface TypedJob {
  readonly kind?: string;
  readonly name: string;
}

/** Reads `[KIND/]NAME`. Throws a {@link ConfigurationError} if it is none. */
export function typedJob(text: string): TypedJob {
  const [first = "", second, ...more] = text.split("/");
  if (more.length > 0 || first === "" || second === "") {
    throw new ConfigurationError(
      `"${text}" is not NAME or KIND/NAME, such as mnist or pytorchjob/mnist`,
    );
  }
  return second === undefined ? { name: first } : { kind: first, name: second };
}

/** Returns whether a kind is meant by its plural, its singular, or either with its group. */
export function isMeant({ kind, plural, group }: KindNames, typed: string): boolean {
  const text = typed.toLowerCase();
  const names = [plural, kind.toLowerCase()];
  return names.some((it) => text === it || text === `${it}.${group}`);
}

/** What is typed is a search, and no job. */
export class SearchTyped extends ConfigurationError {
  constructor(readonly search: KindNames, { namespace, name }: Pick<JobRef, "namespace" | "name">) {
    const kind = search.kind.toLowerCase();
    super(
      `${name} in ${namespace} is a search, and no job: \`milepost get ${kind}/${name}\` shows its trials, ` +
        `which are jobs; \`kubectl delete ${kind} ${name} -n ${namespace}\` ends it`,
    );
  }
}

/** Returns the kind of a search of that name, if there is one that may be read. */
async function searchNamed(
  { searches }: Pick<TerminalCluster, "searches">,
  { namespace, name }: Pick<JobRef, "namespace" | "name">,
  signal: AbortSignal,
): Promise<KindNames | undefined> {
  const { searches: all } = await searches.list(signal);
  const found = all.find((it) => it.namespace === namespace && it.name === name);
  return searches.kinds.find(({ plural, group }) => found?.kind === `${plural}.${group}`);
}

/** Names of each kind among which a name that was not meant so is looked for. */
const COMPARED = 1_000;

/**
 * Returns the one job that is meant. Throws a {@link ConfigurationError} if there is none, or several, and of these a
 * {@link SearchTyped} if it is a search.
 */
export async function findJob(
  cluster: Pick<TerminalCluster, "client" | "kinds" | "searches">,
  { kind: typedKind, name }: TypedJob,
  namespace: string,
  signal: AbortSignal,
): Promise<JobRef> {
  const { client, kinds, searches } = cluster;
  const meant = kinds.all.filter((it) => typedKind === undefined || isMeant(it, typedKind));
  if (meant.length === 0) {
    const search = searches.kinds.find((it) => isMeant(it, typedKind ?? ""));
    if (search !== undefined) throw new SearchTyped(search, { namespace, name });
    const all = [...kinds.all, ...searches.kinds];
    const known = all.map(({ kind }) => kind.toLowerCase()).join(", ");
    throw new ConfigurationError(`there is no kind ${typedKind}; known: ${known}`);
  }
  const asked = await Promise.allSettled(meant.map(async (kind): Promise<JobRef> => {
    const { metadata } = await client.get(kind, { namespace, name }, { signal });
    return { kind, namespace, name, uid: metadata.uid ?? "" };
  }));
  // In the order of the kinds, whichever was answered first.
  const found = asked.flatMap((it) => it.status === "fulfilled" ? [it.value] : []);
  const errors = asked.flatMap((it): unknown[] => it.status === "rejected" ? [it.reason] : []);
  if (errors.length > 0) signal.throwIfAborted();
  const denial = errors.find(isForbidden);
  const [first, ...others] = found;
  if (others.length > 0) {
    const all = found.map(({ kind }) => `${kind.kind.toLowerCase()}/${name}`).sort().join(", ");
    throw new ConfigurationError(`several jobs have this name: name one as ${all}`);
  }
  if (first !== undefined) return first;
  const failure = errors.find((it) => !isForbidden(it) && !isNotFound(it));
  if (failure !== undefined) throw failure;
  const search = typedKind === undefined
    ? await searchNamed(cluster, { namespace, name }, signal)
    : undefined;
  if (search !== undefined) throw new SearchTyped(search, { namespace, name });
  const none = `there is no job ${name} in ${namespace}`;
  if (denial !== undefined) {
    throw new ConfigurationError(`${none} that the user may read (${messageOf(denial)})`);
  }
  const { rows } = await listedJobs({ client, namespaces: [namespace] }, meant, signal, COMPARED);
  throw new ConfigurationError(`${none}${didYouMean(name, rows.map((row) => row.name))}`);
}

/** What is not read of a large job. */
const BEYOND = {
  pods: `pods beyond ${DETAIL_LIMITS.pods}`,
  events: "some events, maybe newer ones, because there are too many",
} as const;

/** Reads what a report shows besides curves. Throws what the client throws if the job cannot be read. */
export async function readJob(
  { client, keptPods }: Pick<TerminalCluster, "client" | "keptPods">,
  job: JobRef,
  signal: AbortSignal,
): Promise<JobFacts> {
  const { object, pods, events, wait, lastWords, denied = [], cut = [] } = await jobDetails(
    boundedReads(client, signal),
    job,
    keptPods,
  );
  const found = jobSchema.parse(object);
  return {
    object,
    kind: job.kind.kind,
    row: rowOf(job.kind, found),
    ...compact({ restarts: restartsOf(found) || undefined, timeSpent: timeSpentOf(found) }),
    lastWords,
    wait,
    conditions: found.status?.conditions ?? [],
    pods: oneOfEachRank(pods),
    events,
    missing: [
      ...denied.map((it) => `the user may not list ${it} in ${job.namespace}`),
      ...cut.map((it) => BEYOND[it]),
    ],
  };
}
