/** Jobs of a search that no Trial controls: their labels alone say what they belong to. Pure. */
import { readEarlyStopping } from "../../crds/early_stopping.ts";
import type { AnyJob, JobKind } from "../../crds/job_kind.ts";
import { progressOf, shownStateOf } from "../../crds/job_state.ts";
import { objectAt, objectsAt, textAt } from "../../crds/json.ts";
import { ANNOTATIONS } from "../../crds/names.ts";
import { trialReference } from "../../trials/plan/claim.ts";
import { endTimeOf } from "../list/job_row.ts";
import { type FoundTrial, type Objective, SEARCH_LIMITS, shortText } from "./search.ts";
import { rulesInWords, stopOfJob } from "./trial_stop_words.ts";

/** A job with its kind. */
export interface KindedJob {
  readonly kind: JobKind;
  readonly job: AnyJob;
}

/** Variables of the trainer that have values of their own. */
function variablesOf(job: AnyJob): ReadonlyMap<string, string> {
  return new Map(
    objectsAt(objectAt(job, "spec", "trainer"), "env").flatMap((it) => {
      const [name, value] = [textAt(it, "name"), textAt(it, "value")];
      return name === undefined || value === undefined ? [] : [[name, value] as const];
    }),
  );
}

/** Returns the variables in which jobs differ: what was tried. */
export function variedNames(all: readonly ReadonlyMap<string, string>[]): readonly string[] {
  const names = [...new Set(all.flatMap((it) => [...it.keys()]))];
  return names.filter((name) => new Set(all.map((it) => it.get(name))).size > 1)
    .slice(0, SEARCH_LIMITS.parameters);
}

function earlyStoppingOf(job: AnyJob) {
  const text = job.metadata.annotations?.[ANNOTATIONS.earlyStopping];
  const read = text === undefined ? undefined : readEarlyStopping(text);
  return read?.ok ? read.value : undefined;
}

/** Returns the objective that the jobs' own rules name. */
export function objectiveOfJobs(jobs: readonly KindedJob[]): Objective | undefined {
  for (const { job } of jobs) {
    const objective = earlyStoppingOf(job)?.objective;
    if (objective !== undefined) return { metric: objective.name, direction: objective.type };
  }
  return undefined;
}

function trialOfJob({ kind, job }: KindedJob, varied: readonly string[]): FoundTrial {
  const { name = "", namespace = "", creationTimestamp } = job.metadata;
  const variables = variablesOf(job);
  const stop = stopOfJob(kind, job);
  const rules = earlyStoppingOf(job)?.rules;
  const ended = endTimeOf(kind, job);
  return {
    name,
    state: shownStateOf(kind, job),
    created: String(creationTimestamp ?? ""),
    ...(ended !== undefined && { ended }),
    job: { kind: kind.id, namespace, name },
    assignments: varied.flatMap((it) => {
      const value = variables.get(it);
      return value === undefined ? [] : [{ name: shortText(it), value }];
    }),
    metrics: (progressOf(kind, job)?.metrics ?? []).slice(0, SEARCH_LIMITS.metrics)
      .map(({ name, value }) => ({ name, latest: value })),
    ...(stop !== undefined && {
      stop: stop.by === "rules" && rules !== undefined
        ? { ...stop, rules: rulesInWords(rules) }
        : stop,
    }),
  };
}

/** Returns the jobs that no Trial controls, as trials of a search. */
export function trialsOfJobs(jobs: readonly KindedJob[]): readonly FoundTrial[] {
  const own = jobs.filter(({ job }) => trialReference(job.metadata) === undefined);
  const varied = variedNames(own.map(({ job }) => variablesOf(job)));
  return own.map((job) => trialOfJob(job, varied));
}
