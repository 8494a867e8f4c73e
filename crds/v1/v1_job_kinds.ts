/** Job kinds of the Training Operator's v1 API: descriptors made from their table. */
import { z } from "zod";
import { type AnyJob, defineJobKind, type JobKind, jobSchema } from "../job_kind.ts";
import { ANNOTATIONS, childNames, LABELS, TRAINJOB_REASONS } from "../names.ts";
import { V1_KIND_LIST, type V1Kind, type V1KindName } from "./kinds.ts";
import { MASTER_ROLE, V1_CONDITIONS, V1_CONTROLLER, V1_LABELS } from "./names.ts";
import { V1_RESOURCES } from "./v1_resources.ts";

const managedSpec = z.looseObject({
  runPolicy: z.looseObject({ managedBy: z.string().optional() }).optional(),
});

/** The pod whose metrics count: the master, or the first worker of a kind whose pods may all lack that role. */
function firstPod(kind: V1KindName): Readonly<Record<string, string>> {
  return kind === "PaddleJob"
    ? { [V1_LABELS.replicaType]: "worker", [V1_LABELS.replicaIndex]: "0" }
    : { [V1_LABELS.jobRole]: MASTER_ROLE };
}

function hasBegun({ status }: AnyJob): boolean {
  return status?.conditions?.some(({ type }) => type === V1_CONDITIONS.running) ?? false;
}

function v1JobKind({ kind, plural }: V1Kind): JobKind {
  const { schema: _, ...resource } = V1_RESOURCES[kind];
  const stopped = `${kind}${V1_CONDITIONS.earlyStopped}`;
  const first = firstPod(kind);
  return defineJobKind({
    ...resource,
    parse: (value) => jobSchema.parse(value),
    ownerPaths: [{ through: [], nameFits: (pod, job) => pod.startsWith(`${job}-`) }],
    controllers: [],
    podLabels: {
      jobName: V1_LABELS.jobName,
      kind: { key: LABELS.jobKind, value: plural },
      first,
    },
    caConfigMap: { nameOf: childNames.tlsConfig, madeByManager: true },
    progress: { at: "status", field: "trainerStatus", orAnnotation: ANNOTATIONS.trainerStatus },
    conditions: {
      ends: [
        { type: V1_CONDITIONS.failed, end: "Failed" },
        { type: V1_CONDITIONS.succeeded, end: "Complete" },
      ],
      earlyStopped: V1_CONDITIONS.earlyStopped,
      suspended: V1_CONDITIONS.suspended,
    },
    foreignController: ({ spec }) => {
      const { managedBy } = managedSpec.safeParse(spec).data?.runPolicy ?? {};
      return managedBy === undefined || managedBy === V1_CONTROLLER ? undefined : managedBy;
    },
    hasBegun,
    stop: [
      { type: V1_CONDITIONS.running, status: "False", reason: stopped, onlyIfPresent: true },
      { type: V1_CONDITIONS.restarting, status: "False", reason: stopped, onlyIfPresent: true },
      { type: V1_CONDITIONS.earlyStopped, status: "True", reason: TRAINJOB_REASONS.rulesMet },
      // The last one, which the column of the state shows.
      { type: V1_CONDITIONS.succeeded, status: "True", reason: stopped },
    ],
    katib: {
      primaryPodLabels: first,
      success: V1_CONDITIONS.succeeded,
      failure: V1_CONDITIONS.failed,
    },
  });
}

/** The descriptors, in the order of the table. */
export const V1_JOB_KINDS: readonly JobKind[] = V1_KIND_LIST.map(v1JobKind);
