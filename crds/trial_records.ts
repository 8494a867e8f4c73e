/** Records of a search's trials: the ConfigMap `<name>-trials` of an OptimizationJob, which outlives every leader. */
import { z } from "zod";
import { isObject, jsonOfText } from "../platform/base/json.ts";
import { isControlledBy, isOfPredecessor } from "../platform/kube/owner_references.ts";
import type { KubeMeta } from "../platform/kube/resource.ts";
import { KINDS } from "./kinds.ts";
import { type OptimizationJob, SEARCH_BOUNDS } from "./optimization_job.ts";

/** The name of the ConfigMap, by that of the OptimizationJob. */
export const trialRecordsName = (optimizationJob: string): string => `${optimizationJob}-trials`;

/** Bytes of a search's records: of all, which is what a ConfigMap holds, and of a trial beside its values. */
export const RECORDS_BYTES = {
  all: 1_048_576,
  trial: 2_048,
  /** Without the values that its pruner compares others with: those can be read again. */
  pruning: 2_048,
} as const;

/** Whose a ConfigMap of that name is: a former search of the name leaves it to the garbage collector. */
export type RecordsOwner = "search" | "former" | "other";

/** Returns whose the ConfigMap of that metadata is, to a search. */
export function ownerOfRecords(
  metadata: Pick<KubeMeta, "ownerReferences"> | undefined,
  search: Pick<KubeMeta, "name" | "uid">,
): RecordsOwner {
  if (isControlledBy(metadata, search.uid ?? "")) return "search";
  return isOfPredecessor(metadata, KINDS.optimizationJob, search) ? "former" : "other";
}

/** States of a trial: Running until it has ended, from before its TrainJob is made. */
export const TRIAL_RECORD_STATES = ["Running", "Complete", "EarlyStopped", "Failed"] as const;

/** One trial. It is written before its TrainJob is made, so that a leader that is killed in between makes it no second time. */
const trialRecordSchema = z.looseObject({
  /** The name of its TrainJob. */
  name: z.string(),
  /** In the order of the search's parameters. */
  values: z.array(z.string()),
  created: z.iso.datetime({ offset: true }),
  /** The UID of its TrainJob; absent until that is known to have been made. */
  uid: z.string().optional(),
  state: z.enum(TRIAL_RECORD_STATES),
  reason: z.string().optional(),
  message: z.string().optional(),
  /** The objective, of a trial that is complete. */
  value: z.string().optional(),
  ended: z.iso.datetime({ offset: true }).optional(),
});
export type TrialRecord = z.infer<typeof trialRecordSchema>;

/** Longest reason in words; whoever may write ConfigMaps may have changed it. */
const MAX_WORDS = 1_024;
/** A number; NaN and infinities, which JSON has not, as texts. */
const anyNumber = z.union([
  z.number(),
  z.enum(["NaN", "Infinity", "-Infinity"]).transform(Number),
]);
const writtenNumber = (value: number) => Number.isFinite(value) ? value : String(value);

/** What the pruner of a search has decided of one trial, and cannot read from a log again. */
const pruningRecordSchema = z.looseObject({
  /** The values that it had at the rungs it has reached, the first one first. */
  rungs: z.array(anyNumber).optional(),
  /** Why it is stopped, in words; absent while it may go on. */
  pruned: z.string().max(MAX_WORDS).optional(),
  /** When that was decided, RFC 3339. */
  time: z.iso.datetime({ offset: true }).optional(),
  /** The steps of the lowest rung, where the pruner has found them out, which it does once for all trials. */
  resource: z.int().min(1).optional(),
  /** The time of the report by which it did: reports before it were not judged. */
  since: z.string().max(MAX_WORDS).optional(),
  /** First values by step, of a trial that has ended; none of one that others are not compared with. */
  values: z.array(z.tuple([z.int(), anyNumber])).optional(),
});
export type PruningRecord = z.infer<typeof pruningRecordSchema>;

/** Keys of the ConfigMap: one of each trial for its record, and one for what its pruner decided. */
export const recordKeys = {
  trial: (index: number) => `trial.${index}`,
  pruning: (index: number) => `pruning.${index}`,
} as const;

/** Returns the text of a record of a pruner, as {@link readTrialRecords} reads it. */
export function pruningRecordText({ rungs, values, ...record }: PruningRecord): string {
  return JSON.stringify({
    ...record,
    ...(rungs && { rungs: rungs.map(writtenNumber) }),
    ...(values && { values: values.map(([step, value]) => [step, writtenNumber(value)]) }),
  });
}

/** Characters of a search's name that are in those of its trials: JobSets and pods add to it. */
const NAME_LENGTH = 30;

/** Returns the name of a trial's TrainJob, by the metadata of its search; no trial of another search has it. */
export function trialName(
  { name = "", uid = "" }: Pick<OptimizationJob["metadata"], "name" | "uid">,
  index: number,
): string {
  return `${name.slice(0, NAME_LENGTH).replace(/-+$/, "")}-${uid.slice(0, 8)}-${index}`;
}

const KEY = /^(trial|pruning)\.(0|[1-9][0-9]?)$/;

/** Returns the records that the ConfigMap's data hold, by the index of their trial; what is none is left out. */
export function readTrialRecords(data: unknown) {
  const trials = new Map<number, TrialRecord>();
  const pruning = new Map<number, PruningRecord>();
  for (const [key, text] of Object.entries(isObject(data) ? data : {})) {
    const [, kind, index = ""] = KEY.exec(key) ?? [];
    if (kind === undefined || Number(index) >= SEARCH_BOUNDS.trials) continue;
    const value = jsonOfText(String(text));
    if (kind === "trial") {
      const read = trialRecordSchema.safeParse(value);
      if (read.success) trials.set(Number(index), read.data);
    } else {
      const read = pruningRecordSchema.safeParse(value);
      if (read.success) pruning.set(Number(index), read.data);
    }
  }
  return { trials, pruning };
}
