/** Katib's searches: Experiments, and Trials and jobs that no more than a label puts together. */
import type { AnyJob } from "../../crds/job_kind.ts";
import { type JsonObject, objectAt, textAt } from "../../crds/json.ts";
import { KATIB } from "../../crds/katib_names.ts";
import { KINDS } from "../../crds/kinds.ts";
import { isForbidden, isNotFound, isNotServed } from "../../kube/errors.ts";
import { withMetadataOnly } from "../../kube/resource.ts";
import { trialReference } from "../../trials/plan/claim.ts";
import { asItIs, type BoundedList, type Found, listUpTo } from "../server/bounded_list.ts";
import {
  EXPERIMENTS,
  objectiveOfSpec,
  rowOfExperiment,
  searchOfExperiment,
  strategiesOfSpec,
} from "./katib_objects.ts";
import { jobOfTrial, trialOf } from "./katib_trials.ts";
import { type KindedJob, objectiveOfJobs, trialsOfJobs } from "./labelled_jobs.ts";
import { type FoundSearch, type FoundTrial, SEARCH_LIMITS, type SearchRow } from "./search.ts";
import type { DeniedList, FoundSearches, SearchKind, SearchReader } from "./search_kind.ts";
import { stopsOfTrials } from "./stopped_trial_jobs.ts";
import { stopOfJob } from "./trial_stop_words.ts";

const EXPERIMENT = asItIs({
  group: KATIB.group,
  version: KATIB.version,
  kind: KATIB.experimentKind,
  plural: "experiments",
  namespaced: true,
});
const TRIAL = asItIs(KINDS.trial);
const TRIALS = `${KINDS.trial.plural}.${KATIB.group}`;
const LABEL = KATIB.experimentLabel;

const DEADLINE_MS = 10_000;
/** Objects that have the label, as far as they are counted in a list. */
const MOST_LABELLED = 10_000;
/** Longest value of a label. */
const MAX_LABEL = 63;

/** What was found of one kind of objects, if it is served and may be read. */
interface Looked<T> extends Found<T> {
  readonly id: string;
  readonly isAbsent?: boolean;
  /** The API server's refusal. */
  readonly refusal?: unknown;
}

async function look<T>(id: string, read: Promise<Found<T>>): Promise<Looked<T>> {
  try {
    return { id, ...await read };
  } catch (error) {
    if (isForbidden(error)) return { id, items: [], isDenied: true, refusal: error };
    if (isNotServed(error)) return { id, items: [], isAbsent: true };
    throw error;
  }
}

const bounds = (signal: AbortSignal, most: number): BoundedList => ({
  most,
  page: 500,
  deadlineMs: DEADLINE_MS,
  signal,
});

/** A search by its label, with how many trials it has. */
interface Labelled {
  readonly namespace: string;
  readonly name: string;
  total: number;
  created: string;
}

const keyOf = ({ namespace, name }: { namespace: string; name: string }) => `${namespace}/${name}`;

/** Counts objects by the search that their labels name. */
function byLabel(groups: Map<string, Labelled>, items: readonly unknown[]): void {
  for (const item of items) {
    const name = textAt(item, "metadata", "labels", LABEL);
    const namespace = textAt(item, "metadata", "namespace");
    if (name === undefined || name === "" || namespace === undefined) continue;
    const created = textAt(item, "metadata", "creationTimestamp") ?? "";
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

/** Looks at the experiments of a namespace or of all, and at what has their label. */
function lookAt({ client, kinds, signal }: SearchReader, namespace: string | undefined) {
  const inNamespace = namespace === undefined ? {} : { namespace };
  const labelled = { ...bounds(signal, MOST_LABELLED), ...inNamespace, labelSelector: LABEL };
  return Promise.all([
    look(
      EXPERIMENTS,
      listUpTo(client, EXPERIMENT, { ...bounds(signal, SEARCH_LIMITS.searches), ...inNamespace }),
    ),
    look(TRIALS, listUpTo(client, withMetadataOnly(TRIAL), labelled)),
    Promise.all(
      kinds.all.map((kind) => look(kind.id, listUpTo(client, withMetadataOnly(kind), labelled))),
    ),
  ]);
}

async function list(reader: SearchReader, namespaces: readonly string[]): Promise<FoundSearches> {
  const scopes = namespaces.length === 0 ? [undefined] : namespaces;
  const rows = new Map<string, SearchRow>();
  const groups = new Map<string, Labelled>();
  const denied: DeniedList[] = [];
  const absent = new Set<string>();
  let isCut = false;
  for (const namespace of scopes) {
    const [experiments, trials, jobs] = await lookAt(reader, namespace);
    for (const row of experiments.items.map(rowOfExperiment)) rows.set(keyOf(row), row);
    byLabel(groups, trials.items);
    byLabel(
      groups,
      jobs.flatMap(({ items }) => items).filter(({ metadata }) =>
        trialReference(metadata) === undefined
      ),
    );
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
    rows: all.slice(0, SEARCH_LIMITS.searches),
    denied,
    isCut: isCut || all.length > SEARCH_LIMITS.searches,
    absent: [...absent],
  };
}

/** The Experiment, or none. */
async function experimentOf(
  { client, signal }: SearchReader,
  key: { readonly namespace: string; readonly name: string },
): Promise<Looked<JsonObject>> {
  const read = client.get(EXPERIMENT, key, { signal, deadlineMs: DEADLINE_MS })
    .then((object) => ({ items: [object] }))
    .catch((error) => {
      if (isNotFound(error)) return { items: [] };
      throw error;
    });
  return await look(EXPERIMENTS, read);
}

/** Jobs that have the search's label, of all kinds. */
async function labelledJobs({ client, kinds, signal }: SearchReader, where: Partial<BoundedList>) {
  const found = await Promise.all(kinds.all.map(async (kind) => ({
    kind,
    looked: await look<AnyJob>(
      kind.id,
      listUpTo(client, kind, { ...bounds(signal, SEARCH_LIMITS.trials), ...where }),
    ),
  })));
  const jobs = found.flatMap(({ kind, looked }): KindedJob[] =>
    looked.items.map((job) => ({ kind, job }))
  );
  return { jobs, looked: found.map(({ looked }) => looked) };
}

const OPEN: readonly string[] = ["Created", "Running", "Suspended"];

/** What trials say of a search that has no Experiment. */
function withoutExperiment(trials: readonly FoundTrial[], specs: readonly unknown[]) {
  const objective = specs.map(objectiveOfSpec).find((it) => it !== undefined);
  const isOpen = trials.some(({ state }) => OPEN.includes(state));
  const created = trials.map((it) => it.created ?? "").filter((it) => it !== "").sort()[0];
  return {
    state: isOpen ? "Running" as const : "Complete" as const,
    notes: [],
    parameters: [],
    strategies: specs.map(strategiesOfSpec).find(({ size }) => size > 0) ?? new Map(),
    ...(objective !== undefined && { objective }),
    ...(created !== undefined && { created }),
  };
}

/** The Trials, with what is known of their jobs. */
async function trialsOf(
  reader: SearchReader,
  trials: readonly JsonObject[],
  jobs: readonly KindedJob[],
): Promise<readonly FoundTrial[]> {
  const byKey = new Map(jobs.map(({ kind, job }) => [
    `${kind.id}/${job.metadata.name}`,
    stopOfJob(kind, job),
  ]));
  const stops = await stopsOfTrials(reader, trials);
  return trials.map((trial) => {
    const named = jobOfTrial(trial);
    const kind = named && reader.kinds.ofOwner(named);
    const job = named && kind && { kind: kind.id, namespace: named.namespace, name: named.name };
    const stop = stops.get(textAt(trial, "metadata", "uid") ?? "") ??
      (job && byKey.get(`${job.kind}/${job.name}`));
    return trialOf(trial, { ...(job && { job }), ...(stop && { stop }) });
  });
}

async function read(
  reader: SearchReader,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): Promise<FoundSearch | undefined> {
  const { client, signal } = reader;
  if (name.length > MAX_LABEL) return undefined;
  const where = { namespace, labelSelector: `${LABEL}=${name}` };
  const [experiment, trials, { jobs, looked }] = await Promise.all([
    experimentOf(reader, { namespace, name }),
    look(TRIALS, listUpTo(client, TRIAL, { ...bounds(signal, SEARCH_LIMITS.trials), ...where })),
    labelledJobs(reader, where),
  ]);
  const all = [experiment, trials, ...looked];
  const [object] = experiment.items;
  const shown = [
    ...await trialsOf(reader, trials.items, jobs),
    ...trialsOfJobs(jobs),
  ];
  if (object === undefined && shown.length === 0) {
    const refusal = all.find(({ isDenied }) => isDenied)?.refusal;
    if (refusal !== undefined) throw refusal;
    return undefined;
  }
  const denied = all.filter(({ isDenied }) => isDenied).map(({ id }) => id);
  const specs = trials.items.map((it) => objectAt(it, "spec"));
  const objective = objectiveOfJobs(jobs);
  return {
    kind: EXPERIMENTS,
    namespace,
    name,
    ...(objective !== undefined && { objective }),
    ...(object === undefined ? withoutExperiment(shown, specs) : searchOfExperiment(object)),
    trials: shown,
    ...(denied.length > 0 && { denied }),
    ...(all.some(({ isCut }) => isCut) && { isCut: true }),
  };
}

/** Katib's searches. An Experiment need not be there: whoever makes Trials, or jobs, labels them with its name. */
export const KATIB_SEARCH: SearchKind = { id: EXPERIMENTS, list, read };
