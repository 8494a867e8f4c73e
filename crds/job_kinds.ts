/** The table of job kinds. */
import { z } from "zod";
import { defineJobKind, type JobKind } from "./job_kind.ts";
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
import { JOB_OF_JOB_SET, POD_OF_JOB } from "./owner_links.ts";
import { V1_JOB_KINDS } from "./v1/v1_job_kinds.ts";
import type { OwnerRef } from "../platform/kube/resource.ts";
import { WATCHED } from "./watched.ts";

const managedSpec = z.looseObject({ managedBy: z.string().optional() });
const countedStatus = z.looseObject({
  jobsStatus: z.array(z.looseObject({
    ready: z.number(),
    succeeded: z.number(),
    failed: z.number(),
  })),
});

const { complete, failed, earlyStopped, suspended } = TRAINJOB_CONDITIONS;

/** TrainJob: its pods are those of the Jobs of its JobSet. */
export const TRAINJOB: JobKind = defineJobKind({
  ...WATCHED.trainJob,
  ownerPaths: [{
    through: [POD_OF_JOB, JOB_OF_JOB_SET],
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
  hasBegun({ status }) {
    if (status?.state !== undefined) return status.state !== "Created";
    // Upstream's definition has no state.
    const { jobsStatus = [] } = countedStatus.safeParse(status).data ?? {};
    return jobsStatus.some(({ ready, succeeded, failed }) => ready + succeeded + failed > 0);
  },
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
export type JobKinds = ReturnType<typeof createJobKinds>;

/** Creates the table; the first kind is the implied one. */
export function createJobKinds(first: JobKind, ...others: readonly JobKind[]) {
  const all: readonly JobKind[] = [first, ...others];
  const byId = new Map(all.map((kind) => [kind.id, kind]));
  return {
    all,
    /** The kind of jobs in messages between replicas that name no kind: the first one of the table. */
    implied: first,
    /** The kind by its {@link JobKind.id}. */
    byId: (id: string): JobKind | undefined => byId.get(id),
    /** The kind of an owner reference, of any version. */
    ofOwner: ({ apiVersion, kind }: Pick<OwnerRef, "apiVersion" | "kind">): JobKind | undefined =>
      all.find((it) => it.kind === kind && it.group === apiVersion.split("/")[0]),
    /** The kinds whose pods have these labels: one, or several trial resources, which labels do not tell apart. */
    ofPod: (labels: Readonly<Record<string, string>>): readonly JobKind[] =>
      all.filter(({ podLabels: { jobName, kind, without = [] } }) =>
        labels[jobName] !== undefined &&
        (kind === undefined || labels[kind.key] === kind.value) &&
        !without.some((label) => labels[label] !== undefined)
      ),
  };
}

/** The kinds of jobs that Milepost knows. */
export const JOB_KINDS: JobKinds = createJobKinds(TRAINJOB, ...V1_JOB_KINDS);

/** Returns the kinds that Milepost knows with those trial resources, each in the place of a v1 kind that it names. */
export function withTrialResources(resources: readonly JobKind[]): JobKinds {
  const same = (a: JobKind) => (b: JobKind) => a.group === b.group && a.kind === b.kind;
  const own = V1_JOB_KINDS.filter((it) => !resources.some(same(it)));
  return createJobKinds(
    TRAINJOB,
    ...own,
    // Katib's defaults of a kind are the same whoever runs it.
    ...resources.map((it) => ({ ...it, katib: V1_JOB_KINDS.find(same(it))?.katib ?? it.katib })),
  );
}
