/** TrainJob of a trial: the template of a search with the values of one trial. Pure. */
import type { AnyJob } from "../../crds/job_kind.ts";
import { KINDS } from "../../crds/kinds.ts";
import { ANNOTATIONS, LABELS } from "../../crds/names.ts";
import { objectiveOf, type OptimizationJob } from "../../crds/optimization_job.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import {
  controllerKey,
  controllerReference,
  isControlledBy,
} from "../../platform/kube/owner_references.ts";
import type { Cache } from "../../platform/kube/watching/informer.ts";
import { variablesOf } from "./trial_variables.ts";

/** Returns the annotation that says of a trial what it is compared by. */
export function objectiveText({ spec }: Pick<OptimizationJob, "spec">): string {
  const { metric, direction } = objectiveOf({ spec });
  return `${direction.toLowerCase()} ${metric}`;
}

/** Returns the variables of a trial, by its values in the order of the search's parameters. */
function variables({ spec: { parameters } }: OptimizationJob, values: readonly string[]) {
  return parameters.flatMap(({ name }, index) =>
    variablesOf(name).map((variable) => ({ name: variable, value: values[index] ?? "" }))
  );
}

/** Whether the trainer of a TrainJob gets these values. */
export function hasValues(
  { spec: { trainer } }: TrainJob,
  search: OptimizationJob,
  values: readonly string[],
): boolean {
  return variables(search, values).every(({ name, value }) =>
    trainer?.env?.findLast((it) => it.name === name)?.value === value
  );
}

/**
 * Returns the TrainJob of a trial with these values, in the order of the search's parameters. Labels and annotations of
 * the template are copied, ours win; its finalizers are not, since nobody would take them off.
 */
export function trialJob(
  search: OptimizationJob,
  name: string,
  values: readonly string[],
): TrainJob {
  const { metadata, spec: { trainJobTemplate: template } } = search;
  const env = variables(search, values);
  const { trainer } = template.spec;
  const { apiVersion, kind } = search;
  const owner = { apiVersion, kind, name: metadata.name ?? "", uid: metadata.uid ?? "" };
  return KINDS.trainJob.parse({
    apiVersion,
    kind: KINDS.trainJob.kind,
    metadata: {
      name,
      namespace: metadata.namespace,
      labels: { ...template.metadata?.labels, [LABELS.optimizationJob]: metadata.name },
      annotations: {
        // A log with steps, which the template may ask for in its own way.
        [ANNOTATIONS.trialTemplate]: "{}",
        ...template.metadata?.annotations,
        [ANNOTATIONS.objective]: objectiveText(search),
      },
      ownerReferences: [controllerReference(owner)],
    },
    spec: { ...template.spec, trainer: { ...trainer, env: [...trainer?.env ?? [], ...env] } },
  });
}

/** Returns the search that controls a TrainJob, by its UID, if the cache has that one. */
export function controllingSearch(
  searches: Pick<Cache<OptimizationJob>, "get">,
  { metadata }: Pick<AnyJob, "metadata">,
): OptimizationJob | undefined {
  const key = controllerKey({ metadata }, KINDS.optimizationJob);
  const search = key === undefined ? undefined : searches.get(key);
  return isControlledBy(metadata, search?.metadata.uid ?? "") ? search : undefined;
}
