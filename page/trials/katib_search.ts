/** Katib's searches: Experiments, and Trials and jobs that no more than a label puts together. */
import { textAt } from "../../platform/base/json.ts";
import { KATIB } from "../../crds/katib_names.ts";
import { isOpenState } from "../../crds/names.ts";
import { KINDS } from "../../crds/kinds.ts";
import { type Kind, withMetadataOnly } from "../../platform/kube/resource.ts";
import { isForbidden, isNotFound, isNotServed } from "../../platform/kube/errors.ts";
import { trialReference } from "../../trials/plan/claim.ts";
import {
  asItIs,
  type BoundedList,
  type Found,
  keeping,
  listUpTo,
  readOne,
} from "../../views/details/bounded_reads.ts";
import { EXPERIMENTS, rowOfExperiment, searchOfExperiment } from "./katib_objects.ts";
import { type ReadTrial, readTrial, trialOf } from "./katib_trials.ts";
import { objectiveOfJobs, type ReadJob, readJob, trialsOfJobs } from "./labelled_jobs.ts";
import { type FoundSearch, type FoundTrial, SEARCH_LIMITS } from "./search.ts";
import type { SearchList, SearchRow } from "../../crds/wire/searches.ts";
import type { SearchKind, SearchReader } from "./search_kind.ts";
import type { Denied } from "../../crds/wire/row.ts";
import { stopsOfTrials } from "./stopped_trial_jobs.ts";

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
const LABEL = KATIB.experimentLabel;

/** Objects that have the label, as far as they are counted in a list. */
const MOST_LABELLED = 10_000;
/** Longest value of a label. */
const MAX_LABEL = 63;

/** What was found of one kind of objects, if it is served and may be read. */
interface ReadList<T> extends Found<T> {
  readonly id: string;
  readonly isAbsent?: boolean;
  /** The API server's refusal. */
  readonly refusal?: unknown;
}

async function readOrDenied<T>(id: string, read: Promise<Found<T>>): Promise<ReadList<T>> {
  try {
    return { id, ...await read };
  } catch (error) {
    if (isForbidden(error)) return { id, items: [], isDenied: true, refusal: error };
    if (isNotServed(error)) return { id, items: [], isAbsent: true };
    throw error;
  }
}

/** A search by its label, with how many trials it has. */
interface Labelled {
  readonly namespace: string;
  readonly name: string;
  total: number;
  created: string;
}

const keyOf = ({ namespace, name }: { namespace: string; name: string }) => `${namespace}/${name}`;

/** What is kept of an object that has the label. */
type WithLabel = Omit<Labelled, "total"> & { readonly isOfTrial: boolean };

/** Returns the kind, of whose objects the label is read. */
const labelsOf = (kind: Kind<unknown>): Kind<WithLabel> =>
  keeping(withMetadataOnly(kind), (object) => ({
    namespace: textAt(object, "metadata", "namespace") ?? "",
    name: textAt(object, "metadata", "labels", LABEL) ?? "",
    created: textAt(object, "metadata", "creationTimestamp") ?? "",
    isOfTrial: trialReference(object.metadata) !== undefined,
  }));

/** Counts objects by the search that their labels name. */
function byLabel(groups: Map<string, Labelled>, items: readonly WithLabel[]): void {
  for (const { namespace, name, created } of items) {
    if (name === "" || namespace === "") continue;
    const group = groups.get(keyOf({ namespace, name })) ?? { namespace, name, total: 0, created };
    groups.set(keyOf({ namespace, name }), group);
    group.total++;
    if (Date.parse(created) < Date.parse(group.created)) group.created = created;
  }
}

const rowOfLabel = ({ namespace, name, total, created }: Labelled): SearchRow => ({
  kind: EXPERIMENTS,
  namespace,
  name,
  counts: { total, states: [] },
  ...(created !== "" && { created }),
});

/** Reads the experiments of a namespace or of all, and what has their label. */
function readScope(reader: SearchReader, namespace: string | undefined) {
  const inNamespace = namespace === undefined ? {} : { namespace };
  const labelled = { most: MOST_LABELLED, ...inNamespace, labelSelector: LABEL };
  const labelledOf = (id: string, kind: Kind<unknown>) =>
    readOrDenied(id, listUpTo(reader, labelsOf(kind), labelled));
  const most = SEARCH_LIMITS.searches;
  return Promise.all([
    readOrDenied(EXPERIMENTS, listUpTo(reader, EXPERIMENT_ROWS, { most, ...inNamespace })),
    labelledOf(TRIALS, KINDS.trial),
    Promise.all(reader.kinds.all.map((kind) => labelledOf(kind.id, kind))),
  ]);
}

async function list(reader: SearchReader, namespaces: readonly string[]): Promise<SearchList> {
  const scopes = namespaces.length === 0 ? [undefined] : namespaces;
  const rows = new Map<string, SearchRow>();
  const groups = new Map<string, Labelled>();
  const denied: Denied[] = [];
  const absent = new Set<string>();
  let isCut = false;
  for (const namespace of scopes) {
    const [experiments, trials, jobs] = await readScope(reader, namespace);
    for (const row of experiments.items) rows.set(keyOf(row), row);
    byLabel(groups, trials.items);
    byLabel(groups, jobs.flatMap(({ items }) => items).filter(({ isOfTrial }) => !isOfTrial));
    for (const { id, isDenied, isAbsent, isCut: isOneCut } of [experiments, trials, ...jobs]) {
      if (isDenied) denied.push({ kind: id, ...(namespace !== undefined && { namespace }) });
      if (isAbsent) absent.add(id);
      isCut ||= isOneCut === true;
    }
  }
  for (const [key, group] of groups) if (!rows.has(key)) rows.set(key, rowOfLabel(group));
  const all = [...rows.values()].sort((one, other) =>
    Date.parse(other.created ?? "") - Date.parse(one.created ?? "") || 0
  );
  return {
    searches: all.slice(0, SEARCH_LIMITS.searches),
    denied,
    absent: [...absent],
    ...((isCut || all.length > SEARCH_LIMITS.searches) && { isCut: true }),
  };
}

/** The Experiment, or none. */
async function experimentOf(
  reader: SearchReader,
  key: { readonly namespace: string; readonly name: string },
) {
  const read = readOne(reader, keeping(EXPERIMENT, searchOfExperiment), key)
    .then((search) => ({ items: [search] }))
    .catch((error) => {
      if (isNotFound(error)) return { items: [] };
      throw error;
    });
  return await readOrDenied(EXPERIMENTS, read);
}

/** Jobs that have the search's label, of all kinds. */
async function labelledJobs(reader: SearchReader, where: BoundedList) {
  const lists = await Promise.all(
    reader.kinds.all.map((kind) => {
      const jobs = keeping(kind, (job) => readJob(kind, job));
      return readOrDenied<ReadJob>(kind.id, listUpTo(reader, jobs, where));
    }),
  );
  return { jobs: lists.flatMap(({ items }) => items), lists };
}

/** What trials say of a search that has no Experiment. */
function withoutExperiment(trials: readonly FoundTrial[], read: readonly ReadTrial[]) {
  const { objective } = read.find((it) => it.objective !== undefined) ?? {};
  const isOpen = trials.some(({ state }) => isOpenState(state));
  const created = trials.map((it) => it.created ?? "").filter((it) => it !== "").sort()[0];
  return {
    state: isOpen ? "Running" as const : "Complete" as const,
    notes: [],
    parameters: [],
    strategies: read.find(({ strategies }) => strategies.size > 0)?.strategies ?? new Map(),
    ...(objective !== undefined && { objective }),
    ...(created !== undefined && { created }),
  };
}

/** The Trials, with what is known of their jobs. */
async function trialsOf(
  reader: SearchReader,
  trials: readonly ReadTrial[],
  jobs: readonly ReadJob[],
): Promise<readonly FoundTrial[]> {
  const byKey = new Map(jobs.map(({ job, stop }) => [`${job.kind}/${job.name}`, stop]));
  const stops = await stopsOfTrials(reader, trials);
  return trials.map((trial) => {
    const { job: named, uid } = trial;
    const kind = named && reader.kinds.ofOwner(named);
    const job = named && kind && { kind: kind.id, namespace: named.namespace, name: named.name };
    const stop = stops.get(uid) ?? (job && byKey.get(`${job.kind}/${job.name}`));
    return trialOf(trial, { ...(job && { job }), ...(stop && { stop }) });
  });
}

async function read(
  reader: SearchReader,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): Promise<FoundSearch | undefined> {
  if (name.length > MAX_LABEL) return undefined;
  const where = { most: SEARCH_LIMITS.trials, namespace, labelSelector: `${LABEL}=${name}` };
  const [experiment, trials, { jobs, lists }] = await Promise.all([
    experimentOf(reader, { namespace, name }),
    readOrDenied(TRIALS, listUpTo(reader, READ_TRIALS, where)),
    labelledJobs(reader, where),
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
  const denied = all.filter(({ isDenied }) => isDenied).map(({ id }) => id);
  const objective = objectiveOfJobs(jobs);
  return {
    kind: EXPERIMENTS,
    namespace,
    name,
    ...(objective !== undefined && { objective }),
    ...(found ?? withoutExperiment(shown, trials.items)),
    trials: shown,
    ...(denied.length > 0 && { denied }),
    ...(all.some(({ isCut }) => isCut) && { isCut: true }),
  };
}

/** Katib's searches. An Experiment need not be there: whoever makes Trials, or jobs, labels them with its name. */
export const KATIB_SEARCH: SearchKind = { id: EXPERIMENTS, list, read };
