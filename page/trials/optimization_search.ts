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
import { isTrialJob, readTrialJob, rowOfSearch, trialsOfSearch } from "./optimization_trials.ts";
import { SEARCH_LIMITS, type SearchKind, type SearchReader } from "./search.ts";
import { deniedOf, readOrDenied } from "./search_reads.ts";

const SEARCH = keeping(KINDS.optimizationJob, readOptimizationJob);
const TRIAL_JOB = keeping(TRAINJOB, readTrialJob);
/** Records, and the UID of the search that controls them: others are nobody's. */
const RECORDS = keeping(KINDS.configMap, ({ metadata, data }) => ({
  of: controllerOfKind(metadata, KINDS.optimizationJob)?.uid,
  records: readTrialRecords(data),
}));
const NONE = readTrialRecords({});
const { optimizationJob: LABEL } = LABELS;

/** Reads TrainJobs by their label; where a search that has begun has none with it, also those without, since a controller need not set it. */
async function readTrialJobs(
  reader: SearchReader,
  where: Pick<BoundedList, "namespace">,
  searches: readonly ReadOptimizationJob[],
  labelSelector: string,
) {
  const readJobs = async (labelSelector: string) => {
    const list = { ...where, most: SEARCH_LIMITS.trials, labelSelector };
    const jobs = await readOrDenied(TRAINJOB.id, listUpTo(reader, TRIAL_JOB, list));
    return { ...jobs, items: jobs.items.filter(isTrialJob) };
  };
  const labelled = await readJobs(labelSelector);
  const seen = new Set(labelled.items.map((it) => it.of));
  if (labelled.isDenied || searches.every((it) => !it.hasBegun || seen.has(it.uid))) {
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
    orDenied(listUpTo(reader, RECORDS, labelled)),
  ]);
  const bySearch = Map.groupBy(jobs.items, (it) => it.of);
  const recorded = new Map(records.items.map(({ of, records }) => [of, records]));
  const rows = searches.items.map((search): SearchRow => {
    const own = bySearch.get(search.uid) ?? [];
    return rowOfSearch(search, trialsOfSearch(search, own, recorded.get(search.uid) ?? NONE));
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
        readOne(reader, RECORDS, key).catch(ignoring(isNotFound))
          .then((it) => ({ items: it?.of === search.uid ? [it.records] : [] })),
      ),
    ]);
    const own = jobs.items.filter(({ of }) => of === search.uid);
    const [read = NONE] = records.items;
    const denied = deniedOf([jobs, records]);
    return {
      ...search.search,
      trials: trialsOfSearch(search, own, read),
      ...(denied.length > 0 && { denied }),
      ...(jobs.isCut && { isCut: true }),
    };
  },
};
