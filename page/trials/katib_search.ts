/**
 * Katib's searches: Experiments, and Trials and jobs that no more than a label puts together. An Experiment need not be
 * there: whoever makes Trials, or jobs, labels them with its name.
 */
import { KATIB } from "../../crds/katib_names.ts";
import { KINDS } from "../../crds/kinds.ts";
import { compact } from "../../platform/base/json.ts";
import type { Kind } from "../../platform/kube/resource.ts";
import { ignoring, isNotFound } from "../../platform/kube/errors.ts";
import {
  asItIs,
  type BoundedList,
  keeping,
  listUpTo,
  readOne,
} from "../../views/details/bounded_reads.ts";
import { EXPERIMENTS, rowOfExperiment, searchOfExperiment } from "./katib_objects.ts";
import { type ReadTrial, readTrial, trialOf } from "./katib_trials.ts";
import { withExtremes } from "./job_extremes.ts";
import { type ReadJob, readJob, trialsOfJobs } from "./labelled_jobs.ts";
import {
  byLabel,
  type Labelled,
  labelsOf,
  readableSearches,
  rowOfLabel,
  rowOfTrials,
  searchKey,
  searchOfTrials,
  type WithLabel,
} from "./labelled_searches.ts";
import {
  type FoundSearch,
  type FoundTrial,
  LABEL,
  SEARCH_LIMITS,
  type SearchKind,
  type SearchReader,
} from "./search.ts";
import { deniedOf, readOrDenied } from "./search_reads.ts";
import type { SearchList, SearchRow } from "../../crds/wire/searches.ts";
import type { Denied } from "../../crds/wire/row.ts";
import { endsOfTrials } from "./ended_trial_jobs.ts";

const EXPERIMENT = asItIs({
  group: KATIB.group,
  version: KATIB.version,
  kind: KATIB.experimentKind,
  plural: "experiments",
  namespaced: true,
});
/** Of lists only what is shown of each object is kept: a page of them is gone when the next one comes. */
const EXPERIMENT_ROWS = keeping(EXPERIMENT, rowOfExperiment);
const READ_TRIALS = keeping(asItIs(KINDS.trial), readTrial);
const TRIALS = `${KINDS.trial.plural}.${KATIB.group}`;

/** Objects that have the label, as far as they are counted in a list. */
const MOST_LABELLED = 10_000;
/** Longest value of a label. */
const MAX_LABEL = 63;

/** Reads the experiments of a namespace or of all, and what has their label. */
function readScope(reader: SearchReader, namespace: string | undefined) {
  const inNamespace = namespace === undefined ? {} : { namespace };
  const labelled = { most: MOST_LABELLED, ...inNamespace, labelSelector: LABEL };
  const labelledOf = (id: string, kind: Kind<unknown>) =>
    readOrDenied<WithLabel>(id, listUpTo(reader, labelsOf(kind), labelled));
  const most = SEARCH_LIMITS.searches;
  return Promise.all([
    readOrDenied(EXPERIMENTS, listUpTo(reader, EXPERIMENT_ROWS, { most, ...inNamespace })),
    labelledOf(TRIALS, KINDS.trial),
    Promise.all(reader.kinds.all.map((kind) => labelledOf(kind.id, kind))),
  ]);
}

/** Reads the trials of searches that only their labels put together, and returns the rows of those that were read whole. */
async function rowsOfTrials(
  reader: SearchReader,
  scopes: readonly (string | undefined)[],
  searches: readonly Labelled[],
): Promise<ReadonlyMap<string, SearchRow>> {
  const readable = readableSearches(searches);
  if (readable.length === 0) return new Map();
  const names = [...new Set(readable.map(({ name }) => name))].join(",");
  const scoped = await Promise.all(scopes.map((namespace) =>
    readLabelled(reader, {
      most: SEARCH_LIMITS.trials,
      labelSelector: `${LABEL} in (${names})`,
      ...(namespace !== undefined && { namespace }),
    })
  ));
  const trials = Map.groupBy(
    scoped.flatMap(({ trials }) => trials.items),
    ({ of }) => searchKey(of),
  );
  const jobs = Map.groupBy(scoped.flatMap(({ jobs }) => jobs), ({ of }) => searchKey(of));
  return new Map(readable.flatMap((search) => {
    const key = searchKey(search);
    const [read, own] = [trials.get(key) ?? [], jobs.get(key) ?? []];
    const shown = [...read.map((it) => trialOf(it)), ...trialsOfJobs(own)];
    // Others are there that were not read, or are gone meanwhile.
    if (shown.length < search.total) return [];
    const { namespace, name } = search;
    const found = searchOfTrials(shown, { read, jobs: own });
    return [[key, rowOfTrials({ kind: EXPERIMENTS, namespace, name, ...found, trials: shown })]];
  }));
}

/** Lists searches of namespaces; without any, of all of them. */
async function listSearches(
  reader: SearchReader,
  namespaces: readonly string[],
): Promise<SearchList> {
  const scopes = namespaces.length === 0 ? [undefined] : namespaces;
  const rows = new Map<string, SearchRow>();
  const groups = new Map<string, Labelled>();
  const denied: Denied[] = [];
  const absent = new Set<string>();
  let isCut = false;
  for (const namespace of scopes) {
    const [experiments, trials, jobs] = await readScope(reader, namespace);
    for (const row of experiments.items) rows.set(searchKey(row), row);
    byLabel(groups, trials.items);
    byLabel(groups, jobs.flatMap(({ items }) => items).filter(({ isOfTrial }) => !isOfTrial));
    for (const { id, isDenied, isAbsent, isCut: isOneCut } of [experiments, trials, ...jobs]) {
      if (isDenied) denied.push({ kind: id, ...(namespace !== undefined && { namespace }) });
      if (isAbsent) absent.add(id);
      isCut ||= isOneCut === true;
    }
  }
  const labelled = [...groups].flatMap(([key, group]) => rows.has(key) ? [] : [group]);
  const read = await rowsOfTrials(reader, scopes, labelled);
  for (const group of labelled) {
    rows.set(searchKey(group), read.get(searchKey(group)) ?? rowOfLabel(group));
  }
  return {
    searches: [...rows.values()],
    denied,
    absent: [...absent],
    ...(isCut && { isCut }),
  };
}

/** The Experiment, or none. */
async function experimentOf(
  reader: SearchReader,
  key: { readonly namespace: string; readonly name: string },
) {
  const read = readOne(reader, keeping(EXPERIMENT, searchOfExperiment), key)
    .catch(ignoring(isNotFound))
    .then((search) => ({ items: search === undefined ? [] : [search] }));
  return await readOrDenied(EXPERIMENTS, read);
}

/** Trials, and jobs of all kinds with their least and greatest values, that have a label. */
async function readLabelled(reader: SearchReader, where: BoundedList) {
  const [trials, ...lists] = await Promise.all(
    [
      readOrDenied<ReadTrial>(TRIALS, listUpTo(reader, READ_TRIALS, where)),
      ...reader.kinds.all.map((kind) => {
        const jobs = keeping(kind, (job) => readJob(kind, job));
        return readOrDenied<ReadJob>(kind.id, listUpTo(reader, jobs, where));
      }),
    ] as const,
  );
  const jobs = await withExtremes(reader, lists.flatMap(({ items }) => items));
  return { trials, jobs, lists };
}

/** The Trials, with what is known of their jobs. */
async function trialsOf(
  reader: SearchReader,
  trials: readonly ReadTrial[],
  jobs: readonly ReadJob[],
): Promise<readonly FoundTrial[]> {
  const byKey = new Map(jobs.map((it) => [`${it.job.kind.id}/${it.job.name}`, it]));
  const ends = await endsOfTrials(reader, trials);
  return trials.map((trial) => {
    const { job: named, uid } = trial;
    const kind = named && reader.kinds.ofOwner(named);
    const job = named && kind && { kind: kind.id, namespace: named.namespace, name: named.name };
    const read = job && byKey.get(`${job.kind}/${job.name}`);
    const ofLabelled = read && { stop: read.stop, message: read.found.message };
    return trialOf(trial, compact({ job, ...ofLabelled, ...ends.get(uid) }));
  });
}

/** Reads a search; undefined if there is none of that name. Throws if nothing of it may be read. */
async function readSearch(
  reader: SearchReader,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): Promise<FoundSearch | undefined> {
  if (name.length > MAX_LABEL) return undefined;
  const where = { most: SEARCH_LIMITS.trials, namespace, labelSelector: `${LABEL}=${name}` };
  const [experiment, { trials, jobs, lists }] = await Promise.all([
    experimentOf(reader, { namespace, name }),
    readLabelled(reader, where),
  ]);
  const all = [experiment, trials, ...lists];
  const [found] = experiment.items;
  const shown = [
    ...await trialsOf(reader, trials.items, jobs),
    ...trialsOfJobs(jobs),
  ];
  if (found === undefined && shown.length === 0) {
    const refusal = all.find(({ isDenied }) => isDenied)?.refusal;
    if (refusal !== undefined) throw refusal;
    return undefined;
  }
  const denied = deniedOf(all);
  return {
    kind: EXPERIMENTS,
    namespace,
    name,
    ...searchOfTrials(shown, { read: trials.items, jobs }),
    ...found,
    trials: shown,
    ...(denied.length > 0 && { denied }),
    ...(all.some(({ isCut }) => isCut) && { isCut: true }),
  };
}

/** The kind of searches. */
export const KATIB_SEARCHES: SearchKind = {
  id: EXPERIMENTS,
  kind: EXPERIMENT,
  list: listSearches,
  read: readSearch,
};
