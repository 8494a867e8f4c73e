/** Gangs of Volcano. */
import { type FieldProblem, invalid } from "../../../crds/field_problem.ts";
import { SYSTEM_PRIORITY_CLASSES, VOLCANO } from "../../../crds/gang_names.ts";
import { KINDS } from "../../../crds/kinds.ts";
import type { TrainingRuntimeSpec } from "../../../crds/training_runtime.ts";
import { type Draft, jobsOf, podSpecOf } from "../draft.ts";
import type { Gang } from "../policy.ts";
import { joinGroup, podGroup, type PodMarks } from "./pod_group.ts";

/** Returns the metadata of a pod with the annotation of its group. */
export const memberOfVolcano = (pod: PodMarks | undefined, group: string): PodMarks => ({
  ...pod,
  annotations: { ...pod?.annotations, [VOLCANO.groupNameAnnotation]: group },
});

function queueProblems({ metadata: { annotations } }: Draft): FieldProblem[] {
  if (annotations[VOLCANO.queueAnnotation] !== "") return [];
  const field = `spec.annotations[${VOLCANO.queueAnnotation}]`;
  return [invalid(field, "", "Volcano queue name must not be empty")];
}

/** The priority classes of the jobs; as upstream, none after a class of the system is looked for. */
function priorityClasses(runtime: Partial<TrainingRuntimeSpec>): string[] {
  const names = (runtime.template?.spec?.replicatedJobs ?? [])
    .map((job) => podSpecOf(job)?.priorityClassName)
    .filter((name) => name !== undefined);
  const system = names.findIndex((name) => SYSTEM_PRIORITY_CLASSES.includes(name));
  return system < 0 ? names : names.slice(0, system);
}

/** Problems of priority classes that were looked for; the reconciler looks for none. */
function priorityProblems({ runtime, missingPriorityClasses: missing }: Draft): FieldProblem[] {
  return priorityClasses(runtime).filter((name) => missing?.has(name)).map((name) =>
    invalid(
      "spec.templateSpec.priorityClassName",
      name,
      `PriorityClass "${name}" doesn't exist: ${missing?.get(name)}`,
    )
  );
}

/** The class of the last job that has one, as upstream. */
function priorityClassOf(draft: Draft): string | undefined {
  return jobsOf(draft).map((job) => podSpecOf(job)?.priorityClassName)
    .findLast((name) => name !== undefined);
}

function specOf(draft: Draft): Record<string, unknown> {
  const queue = draft.metadata.annotations[VOLCANO.queueAnnotation];
  const priorityClassName = priorityClassOf(draft);
  const topology = draft.runtime.podGroupPolicy?.volcano?.networkTopology;
  return {
    ...(queue !== undefined && { queue }),
    ...(priorityClassName !== undefined && { priorityClassName }),
    ...(topology && {
      networkTopology: {
        mode: topology.mode ?? "hard",
        highestTierAllowed: topology.highestTierAllowed ?? 1,
      },
    }),
  };
}

export const volcano: Gang = {
  validate: (draft) => [...queueProblems(draft), ...priorityProblems(draft)],
  apply: (draft) => joinGroup(draft, memberOfVolcano),
  marks: ({ annotations }) => annotations?.[VOLCANO.groupNameAnnotation] !== undefined,
  priorityClasses,
  children: (draft, progress) => [podGroup(draft, progress, {
    kind: KINDS.volcanoPodGroup,
    // A pod that has succeeded fills its place in the group as long as it exists.
    countsSucceeded: true,
    spec: specOf(draft),
  })],
  rules: [
    {
      apiGroups: [VOLCANO.group],
      resources: [KINDS.volcanoPodGroup.plural],
      verbs: ["get", "list", "watch", "create", "patch"],
    },
    {
      apiGroups: [KINDS.priorityClass.group],
      resources: [KINDS.priorityClass.plural],
      verbs: ["get"],
    },
  ],
};
