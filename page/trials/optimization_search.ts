/** Searches that OptimizationJobs describe, with the TrainJobs that they control and the records of their trials. */
import { TRAINJOB } from "../../crds/job_kinds.ts";
import { KINDS } from "../../crds/kinds.ts";
import { DNS_LABEL_MAX, LABELS } from "../../crds/names.ts";
import { readTrialRecords, trialRecordsName } from "../../crds/trial_records.ts";
import type { Denied } from "../../crds/wire/row.ts";
import type { SearchRow } from "../../crds/wire/searches.ts";
import { ignoring, isNotFound } from "../../platform/kube/errors.ts";
import { controllerOfKind } from "../../platform/kube/owner_references.ts";
import {
  type BoundedList,
  keeping,
  listUpTo,
  orDenied,
  readOne,
} from "../../views/details/bounded_reads.ts";
import {
  OPTIMIZATION_JOBS,
  type ReadOptimizationJob,
  readOptimizationJob,
} from "./optimization_objects.ts";
import { ownerKey, readTrialJob, rowOfSearch, trialsOfSearch } from "./optimization_trials.ts";
import { SEARCH_LIMITS, type SearchKind, type SearchReader } from "./search.ts";
import { deniedOf, readOrDenied } from "./search_reads.ts";

const SEARCH = keeping(KINDS.optimizationJob, readOptimizationJob);
const keyOf = ({ search, uid }: ReadOptimizationJob) => ownerKey(search, { uid });

/** Returns the kind of their trials' jobs, of which others are none. */
function trialJobsOf(searches: readonly ReadOptimizationJob[]) {
  const keys = new Set(searches.map(keyOf));
  return keeping(TRAINJOB, (job) => {
    const read = readTrialJob(job);
    return read !== undefined && keys.has(read.of) ? read : undefined;
  });
}

/** Returns the kind of their records: of that name, and controlled by them. Others are nobody's. */
function recordsOf(searches: readonly ReadOptimizationJob[]) {
  const names = new Map(searches.map((it) => [keyOf(it), trialRecordsName(it.search.name)]));
  return keeping(KINDS.configMap, ({ metadata = {}, data }) => {
    const owner = controllerOfKind(metadata, KINDS.optimizationJob);
    const of = owner && ownerKey(metadata, owner);
    if (of === undefined || names.get(of) !== metadata.name) return undefined;
    return { of, records: readTrialRecords(data) };
  });
}
const NONE = readTrialRecords({});
const { optimizationJob: LABEL } = LABELS;

/** Reads TrainJobs by their label; where a search that has begun has none with it, also those without, since a controller need not set it. */
async function readTrialJobs(
  reader: SearchReader,
  where: Pick<BoundedList, "namespace">,
  searches: readonly ReadOptimizationJob[],
  labelSelector: string,
) {
  const kind = trialJobsOf(searches);
  const readJobs = async (labelSelector: string) => {
    const list = { ...where, most: SEARCH_LIMITS.trials, labelSelector };
    return await readOrDenied(TRAINJOB.id, listUpTo(reader, kind, list));
  };
  const labelled = await readJobs(labelSelector);
  const seen = new Set(labelled.items.map((it) => it.of));
  if (labelled.isDenied || searches.every((it) => !it.hasBegun || seen.has(keyOf(it)))) {
    return labelled;
  }
  const others = await readJobs(`!${LABEL}`);
  return {
    ...labelled,
    items: [...labelled.items, ...others.items],
    isCut: labelled.isCut || others.isCut,
  };
}

async function listIn(reader: SearchReader, where: Pick<BoundedList, "namespace">) {
  const { searches: most } = SEARCH_LIMITS;
  const list = listUpTo(reader, SEARCH, { most, ...where });
  const searches = await readOrDenied(OPTIMIZATION_JOBS, list);
  if (searches.items.length === 0) return { rows: [], lists: [searches] };
  const labelled = { ...where, most, labelSelector: LABEL };
  const [jobs, records] = await Promise.all([
    readTrialJobs(reader, where, searches.items, LABEL),
    // Who may read none gets the list by the jobs that are there.
    orDenied(listUpTo(reader, recordsOf(searches.items), labelled)),
  ]);
  const bySearch = Map.groupBy(jobs.items, (it) => it.of);
  const recorded = new Map(records.items.map(({ of, records }) => [of, records]));
  const rows = searches.items.map((search): SearchRow => {
    const key = keyOf(search);
    const trials = trialsOfSearch(search, bySearch.get(key) ?? [], recorded.get(key) ?? NONE);
    return rowOfSearch(search, trials);
  });
  return { rows, lists: [searches, jobs] };
}

/** The kind of searches. */
export const OPTIMIZATION_SEARCHES: SearchKind = {
  id: OPTIMIZATION_JOBS,
  kind: KINDS.optimizationJob,

  async list(reader, namespaces) {
    const scopes = namespaces.length === 0 ? [{}] : namespaces.map((namespace) => ({ namespace }));
    const read = await Promise.all(
      scopes.map(async (where) => ({ where, ...await listIn(reader, where) })),
    );
    const lists = read.flatMap(({ lists }) => lists);
    return {
      searches: read.flatMap(({ rows }) => rows),
      denied: read.flatMap(({ where, lists }) =>
        deniedOf(lists).map((kind): Denied => ({ kind, ...where }))
      ),
      absent: [...new Set(lists.filter(({ isAbsent }) => isAbsent).map(({ id }) => id))],
      ...(lists.some(({ isCut }) => isCut) && { isCut: true }),
    };
  },

  async read(reader, { namespace, name }) {
    // Longer ones are no values of a label, nor names of jobs.
    if (name.length > DNS_LABEL_MAX) return undefined;
    const search = await readOne(reader, SEARCH, { namespace, name }).catch(ignoring(isNotFound));
    if (search === undefined) return undefined;
    const key = { namespace, name: trialRecordsName(name) };
    const [jobs, records] = await Promise.all([
      readTrialJobs(reader, { namespace }, [search], `${LABEL}=${name}`),
      readOrDenied(
        "configmaps",
        readOne(reader, recordsOf([search]), key).catch(ignoring(isNotFound))
          .then((it) => ({ items: it === undefined ? [] : [it.records] })),
      ),
    ]);
    const [read = NONE] = records.items;
    const denied = deniedOf([jobs, records]);
    return {
      ...search.search,
      trials: trialsOfSearch(search, jobs.items, read),
      ...(denied.length > 0 && { denied }),
      ...(jobs.isCut && { isCut: true }),
    };
  },
};
