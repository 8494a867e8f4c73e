/** The table of job kinds. */
import { z } from "zod";
import { defineJobKind, type JobKind } from "./job_kind.ts";
import { KINDS } from "./kinds.ts";
import {
  childNames,
  LABELS,
  MULTIKUEUE_CONTROLLER,
  NODE,
  TRAINJOB_CONDITIONS,
  TRAINJOB_REASONS,
} from "./names.ts";
import { JOB_KEYS } from "./job_names.ts";
import { JOBSET_KEYS } from "./jobset_names.ts";
import { V1_JOB_KINDS } from "./v1/v1_job_kinds.ts";
import { WATCHED } from "./watched.ts";

/**
 * What of a Job's name its pods' names surely begin with. Kubernetes cuts the base of a generated
 * name so that the whole stays within 63 characters with index and random suffix.
 */
const POD_NAME_PREFIX_MAX = 40;

const managedSpec = z.looseObject({ managedBy: z.string().optional() });

const { complete, failed, earlyStopped, suspended } = TRAINJOB_CONDITIONS;

/** TrainJob: its pods are those of the Jobs of its JobSet. */
export const TRAINJOB: JobKind = defineJobKind({
  ...WATCHED.trainJob,
  ownerPaths: [{
    through: [
      {
        owner: KINDS.job,
        nameFits: (pod, job) => pod.startsWith(`${job}-`.slice(0, POD_NAME_PREFIX_MAX)),
      },
      {
        owner: KINDS.jobSet,
        // The name of a replicated job, and an index.
        nameFits: (job, jobSet) =>
          job.startsWith(`${jobSet}-`) && /^.+-\d+$/.test(job.slice(jobSet.length + 1)),
      },
    ],
    nameFits: (jobSet, trainJob) => jobSet === trainJob,
  }],
  controllers: [],
  podLabels: { jobName: LABELS.trainJobName, first: { [JOB_KEYS.completionIndex]: "0" } },
  caConfigMap: { nameOf: childNames.tlsConfig, madeByManager: true },
  progress: { at: "status", field: "trainerStatus" },
  conditions: {
    ends: [
      { type: failed, end: "Failed", recoverable: [TRAINJOB_REASONS.runtimeNotSupported] },
      { type: complete, end: "Complete" },
    ],
    earlyStopped,
    suspended,
  },
  foreignController: ({ spec }) => {
    const { managedBy } = managedSpec.safeParse(spec).data ?? {};
    return managedBy === MULTIKUEUE_CONTROLLER ? managedBy : undefined;
  },
  hasBegun: ({ status }) => status?.state !== undefined && status.state !== "Created",
  stop: [
    { type: earlyStopped, status: "True", reason: TRAINJOB_REASONS.rulesMet },
    // For those who know no other end.
    { type: complete, status: "True", reason: TRAINJOB_REASONS.earlyStopped },
  ],
  katib: {
    primaryPodLabels: { [JOBSET_KEYS.replicatedJobName]: NODE, [JOB_KEYS.completionIndex]: "0" },
    // These fit all nodes, whose values would mix in one log, and meant the first one.
    formerPodLabels: { [JOBSET_KEYS.replicatedJobName]: NODE },
    success: complete,
    failure: failed,
  },
});

/** The kinds of jobs that a manager serves. */
export interface JobKinds {
  readonly all: readonly JobKind[];
  /** The kind of jobs in messages between replicas that name no kind: the first one of the table. */
  readonly implied: JobKind;
  /** The kind by its {@link JobKind.id}. */
  byId(id: string): JobKind | undefined;
  /** The kind of an owner reference, of any version. */
  ofOwner(owner: { readonly apiVersion: string; readonly kind: string }): JobKind | undefined;
  /** The kind whose pods have these labels. */
  ofPod(labels: Readonly<Record<string, string>>): JobKind | undefined;
}

/** Creates the table; the first kind is the implied one. */
export function createJobKinds(first: JobKind, ...others: readonly JobKind[]): JobKinds {
  const all = [first, ...others];
  const byId = new Map(all.map((kind) => [kind.id, kind]));
  return {
    all,
    implied: first,
    byId: (id) => byId.get(id),
    ofOwner: ({ apiVersion, kind }) =>
      all.find((it) => it.kind === kind && it.group === apiVersion.split("/")[0]),
    ofPod: (labels) =>
      all.find(({ podLabels: { jobName, kind } }) =>
        labels[jobName] !== undefined && (kind === undefined || labels[kind.key] === kind.value)
      ),
  };
}

/** The kinds of jobs that Milepost knows. */
export const JOB_KINDS: JobKinds = createJobKinds(TRAINJOB, ...V1_JOB_KINDS);
