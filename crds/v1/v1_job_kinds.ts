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

const specsSchema = z.record(
  z.string(),
  z.record(z.string(), z.unknown()).optional().catch(undefined),
);

/** The replica types whose first pod trains, the first one that a job has, for kinds whose master may not train. */
const TRAINING_TYPES: Readonly<Partial<Record<V1KindName, readonly string[]>>> = {
  // Its servers, which have the master's role, train nothing.
  MXJob: ["worker", "tuner"],
  // Its master is a parameter server, and may be absent.
  PaddleJob: ["worker", "master"],
};

const firstOfType = (type: string) => ({
  [V1_LABELS.replicaType]: type,
  [V1_LABELS.replicaIndex]: "0",
});

/** The labels of the pod whose metrics count: of the master, or of the first pod that trains. */
function firstPod({ kind, specsKey }: V1Kind): Pick<JobKind["podLabels"], "first" | "firstOf"> {
  const types = TRAINING_TYPES[kind];
  const [usual] = types ?? [];
  if (types === undefined || usual === undefined) {
    return { first: { [V1_LABELS.jobRole]: MASTER_ROLE } };
  }
  return {
    first: firstOfType(usual),
    firstOf: ({ spec }) => {
      const replicas = specsSchema.safeParse(spec).data?.[specsKey] ?? {};
      const present = Object.keys(replicas).map((type) => type.toLowerCase());
      return firstOfType(types.find((type) => present.includes(type)) ?? usual);
    },
  };
}

function hasBegun({ status }: AnyJob): boolean {
  return status?.conditions?.some(({ type }) => type === V1_CONDITIONS.running) ?? false;
}

function v1JobKind(v1Kind: V1Kind): JobKind {
  const { kind, plural } = v1Kind;
  const { schema: _, ...resource } = V1_RESOURCES[kind];
  const stopped = `${kind}${V1_CONDITIONS.earlyStopped}`;
  const first = firstPod(v1Kind);
  return defineJobKind({
    ...resource,
    parse: (value) => jobSchema.parse(value),
    ownerPaths: [{ through: [], nameFits: (pod, job) => pod.startsWith(`${job}-`) }],
    controllers: [],
    podLabels: {
      jobName: V1_LABELS.jobName,
      kind: { key: LABELS.jobKind, value: plural },
      ...first,
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
      restarting: V1_CONDITIONS.restarting,
      haveUpdateTime: true,
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
      primaryPodLabels: first.first,
      success: V1_CONDITIONS.succeeded,
      failure: V1_CONDITIONS.failed,
    },
  });
}

/** The descriptors, in the order of the table. */
export const V1_JOB_KINDS: readonly JobKind[] = V1_KIND_LIST.map(v1JobKind);
