/** Jobs of a search that no Trial controls: only their labels say what they belong to. Pure. */
import { readObjective } from "../../crds/objective.ts";
import { type AnyJob, type JobKind, jobRefOf } from "../../crds/job_kind.ts";
import { endTimeOf, progressOf, shownStateOf } from "../../crds/job_state.ts";
import { compact } from "../../platform/base/json.ts";
import { variedNames } from "../../platform/base/varied_names.ts";
import { settingsOf } from "../../crds/job_configuration.ts";
import { ANNOTATIONS, PARAMETER_ENV_PREFIX } from "../../crds/names.ts";
import { trialReference } from "../../trials/plan/claim.ts";
import { readOwnRules } from "../../trials/rules/own_rules.ts";
import { type FoundTrial, SEARCH_LIMITS, searchNamedBy, shortText } from "./search.ts";
import type { Objective } from "../../crds/wire/searches.ts";
import { endOfJob, rulesInWords } from "./trial_stop_words.ts";

/** Settings of a job that are read. */
const MOST_SETTINGS = 64;

/** What is kept of a job, which may be a megabyte. */
export type ReadJob = ReturnType<typeof readJob>;

/** Returns the objective that an annotation of the job says; undefined if it says none, or a wrong one. */
function objectiveSaid({ metadata: { annotations } }: AnyJob): Objective | undefined {
  const read = readObjective(annotations?.[ANNOTATIONS.objective] ?? "");
  return read.ok ? read.value : undefined;
}

/** Reads a job. */
export function readJob(kind: JobKind, job: AnyJob) {
  const { name = "", namespace = "", creationTimestamp } = job.metadata;
  const { stop, message } = endOfJob(kind, job);
  const { own } = readOwnRules(job.metadata.annotations);
  /** The objective that it names, or its own rules do. */
  const objective = objectiveSaid(job) ??
    (own?.objective && { metric: own.objective.name, direction: own.objective.type });
  const ended = endTimeOf(kind, job);
  return {
    job: jobRefOf(kind, job),
    /** The search that its label names. */
    of: searchNamedBy(job),
    /** Whether a Trial controls it. */
    isOfTrial: trialReference(job.metadata) !== undefined,
    settings: new Map(
      settingsOf(job).slice(0, MOST_SETTINGS)
        .map(([name, text]) => [shortText(name), shortText(text)]),
    ),
    ...(stop !== undefined && { stop }),
    ...(objective !== undefined && {
      objective: { ...objective, metric: shortText(objective.metric) },
    }),
    /** As a trial, but for what was tried. */
    found: {
      name,
      state: shownStateOf(kind, job),
      created: String(creationTimestamp ?? ""),
      ...compact({ ended, message }),
      job: { kind: kind.id, namespace, name },
      metrics: (progressOf(kind, job)?.metrics ?? []).slice(0, SEARCH_LIMITS.metrics)
        .map(({ name, value }) => ({ name: shortText(name), latest: shortText(value) })),
      ...(stop !== undefined && {
        stop: stop.by === "rules" && own !== undefined
          ? { ...stop, rules: rulesInWords(own.rules, own.stopsAt) }
          : stop,
      }),
    },
  };
}

/** Returns the objective that the jobs' own rules name. */
export const objectiveOfJobs = (jobs: readonly ReadJob[]): Objective | undefined =>
  jobs.find(({ objective }) => objective !== undefined)?.objective;

/** Returns the names of settings in which jobs differ; of a parameter that is a variable by its own name, too, only that. */
function parametersOf(jobs: readonly ReadJob[]): readonly string[] {
  const varied = variedNames(jobs.map(({ settings }) => settings));
  const isPrefixed = (name: string) => name.startsWith(PARAMETER_ENV_PREFIX);
  const own = varied.filter((name) => !isPrefixed(name));
  const isSame = (one: string, other: string) =>
    jobs.every(({ settings }) => settings.get(one) === settings.get(other));
  return varied.filter((name) => !isPrefixed(name) || !own.some((it) => isSame(it, name)))
    .slice(0, SEARCH_LIMITS.parameters);
}

/** Returns the jobs that no Trial controls, as trials of a search. */
export function trialsOfJobs(jobs: readonly ReadJob[]): readonly FoundTrial[] {
  const own = jobs.filter(({ isOfTrial }) => !isOfTrial);
  const varied = parametersOf(own);
  return own.map(({ found, settings }) => ({
    ...found,
    assignments: varied.flatMap((name) => {
      const value = settings.get(name);
      return value === undefined ? [] : [{ name, value }];
    }),
  }));
}
