/** Store of a search's records: its ConfigMap, read anew with each pass, and changed by patches of single keys. */
import { KINDS } from "../../crds/kinds.ts";
import { LABELS } from "../../crds/names.ts";
import type { OptimizationJob } from "../../crds/optimization_job.ts";
import {
  ownerOfRecords,
  pruningRecordText,
  readTrialRecords,
  recordKeys,
  type RecordsOwner,
  type TrialRecord,
  trialRecordsName,
} from "../../crds/trial_records.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { isInvalid, messageOf } from "../../platform/kube/errors.ts";
import { controllerReference } from "../../platform/kube/owner_references.ts";
import { getOrUndefined } from "../../platform/kube/upsert.ts";
import { recordsOf, type Search } from "../../trials/search/search_plan.ts";

type Client = Pick<KubeClient, "get" | "create" | "patch">;
type Changes = ReadonlyMap<number, TrialRecord>;

/** The records of a search as they were read. */
export interface StoredRecords {
  /** The UID of the ConfigMap; undefined if there is none. */
  readonly uid: string | undefined;
  readonly owner: RecordsOwner;
  readonly trials: ReadonlyMap<number, TrialRecord>;
}

const keyOfRecords = ({ metadata: { namespace, name = "" } }: OptimizationJob) => ({
  namespace,
  name: trialRecordsName(name),
});

/** Reads the records of a search from the API server; what it did not write itself is none. */
export async function readRecords(
  client: Client,
  { job, search }: { readonly job: OptimizationJob; readonly search: Search },
  signal: AbortSignal,
): Promise<StoredRecords> {
  const configMap = await getOrUndefined(client, KINDS.configMap, keyOfRecords(job), { signal });
  if (configMap === undefined) return { uid: undefined, owner: "search", trials: new Map() };
  const { metadata, data } = configMap;
  const owner = ownerOfRecords(metadata, job.metadata);
  const read = readTrialRecords(owner === "search" ? data : {});
  return { uid: metadata?.uid, owner, trials: recordsOf(job, search, read.trials) };
}

/** Makes the ConfigMap of a search with its first records. */
async function createRecords(
  client: Client,
  job: OptimizationJob,
  data: Record<string, string>,
  signal: AbortSignal,
) {
  const { apiVersion, kind, metadata: { name = "", uid = "" } } = job;
  return await client.create(KINDS.configMap, {
    metadata: {
      ...keyOfRecords(job),
      labels: { [LABELS.optimizationJob]: name },
      ownerReferences: [controllerReference({ apiVersion, kind, name, uid })],
    },
    data,
  }, { signal });
}

/** Says that the API server does not take the records of a search, since they are too large. */
export class RecordsRefused extends Error {}

/** Changes some keys. If the ConfigMap then is too large, values that a pruner can read again leave their place. */
async function patchRecords(
  client: Client,
  job: OptimizationJob,
  { uid, data }: { readonly uid: string; readonly data: Record<string, string> },
  signal: AbortSignal,
) {
  const key = keyOfRecords(job);
  const patch = (body: object) =>
    client.patch(KINDS.configMap, key, { type: "merge", body }, { signal });
  try {
    return await patch({ metadata: { uid }, data });
  } catch (error) {
    const live = isInvalid(error)
      ? await getOrUndefined(client, KINDS.configMap, key, { signal })
      : undefined;
    // One that was made anew refuses the UID.
    if (live === undefined || live.metadata?.uid !== uid) throw error;
    const shorter = [...readTrialRecords(live.data).pruning].flatMap(([index, it]) => {
      const { values, ...record } = it;
      return values ? [[recordKeys.pruning(index), pruningRecordText(record)]] : [];
    });
    if (shorter.length === 0) throw new RecordsRefused(messageOf(error));
    const { resourceVersion } = live.metadata;
    return await patch({
      metadata: { uid, resourceVersion },
      data: { ...Object.fromEntries(shorter), ...data },
    });
  }
}

/** Writes some records. What others wrote stays, but in a ConfigMap that was made anew nothing is written. */
export async function writeRecords(
  client: Client,
  job: OptimizationJob,
  { stored, changes, signal }: {
    readonly stored: StoredRecords;
    readonly changes: Changes;
    readonly signal: AbortSignal;
  },
): Promise<StoredRecords> {
  const data = Object.fromEntries(
    [...changes].map(([index, it]) => [recordKeys.trial(index), JSON.stringify(it)]),
  );
  const { uid } = stored;
  const { metadata } = uid === undefined
    ? await createRecords(client, job, data, signal)
    : await patchRecords(client, job, { uid, data }, signal);
  return { ...stored, uid: metadata?.uid, trials: new Map([...stored.trials, ...changes]) };
}
