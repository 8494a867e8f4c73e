/** Planning of what is recorded of a job, from the job and its Trial. Pure. */
import { COLLECTORS } from "../../crds/katib_names.ts";
import { type JobKind, jobRefOf } from "../../crds/job_kind.ts";
import { EVENT_REASONS } from "../../crds/names.ts";
import type { Trial } from "../../crds/trial.ts";
import type { KubeMeta } from "../../platform/kube/resource.ts";
import { problemsSummary } from "../../crds/field_problem.ts";
import { mappingOf, readPodsOnly } from "../mapping/trial_template.ts";
import { readRules } from "../rules/read_rules.ts";
import type { RuleProblem } from "../rules/rule.ts";
import { deriveJobPlan } from "./derive_job_plan.ts";
import { type ClaimInputs, judgeClaim } from "./claim.ts";
import { graceOf } from "./grace.ts";
import { aboutJob, aboutTrial, type Notice } from "./notice.ts";
import type {
  ObservationPlan,
  PlanDecision,
  PlanObjective,
  PlanSettings,
} from "./observation_plan.ts";

/** Everything that a plan is made from, as read at one moment. */
export interface PlanInputs extends ClaimInputs {
  readonly kind: JobKind;
  /** Trials of the Trial's name in other namespaces. */
  readonly namesakes: readonly Trial[];
}

/** The plan, and the warnings about the objects that it was made from. */
export interface DerivedPlan {
  readonly decision: Exclude<PlanDecision, { kind: "unknown" }>;
  readonly notices: readonly Notice[];
}

const NONE: DerivedPlan = { decision: { kind: "none" }, notices: [] };

function refused(why: string, notices: readonly Notice[]): DerivedPlan {
  return { decision: { kind: "refused", why }, notices };
}

/** Katib's default is StdOut. */
function collectorOf({ spec }: Trial): string {
  return spec?.metricsCollector?.collector?.kind ?? COLLECTORS.stdOut;
}

/** Whether the Trial's metrics come by push. */
export function comesByPush(trial: Trial, { adopted }: Pick<PlanSettings, "adopted">): boolean {
  const kind = collectorOf(trial);
  return kind === COLLECTORS.push || adopted.has(kind);
}

function isOlder(a: KubeMeta, b: KubeMeta): boolean {
  const text = ({ creationTimestamp = "", namespace = "" }: KubeMeta) =>
    `${creationTimestamp} ${namespace}`;
  return text(a) < text(b);
}

/** Katib's table has one log for each name, which belongs to the oldest Trial of that name. */
function nameClash(
  trial: Trial,
  namesakes: readonly Trial[],
): { loses: boolean; notices: Notice[] } {
  if (namesakes.length === 0) return { loses: false, notices: [] };
  const all = [trial, ...namesakes].sort((a, b) => isOlder(a.metadata, b.metadata) ? -1 : 1);
  const [oldest] = all;
  const where = all.map(({ metadata }) => metadata.namespace).join(", ");
  const message = `namespaces ${where} have Trials of this name, which share one log in Katib; ` +
    `only the oldest, in ${oldest?.metadata.namespace}, is recorded`;
  const reason = EVENT_REASONS.trialNameClash;
  return {
    loses: oldest?.metadata.uid !== trial.metadata.uid,
    notices: all.map((it) => ({ about: aboutTrial(it), reason, message })),
  };
}

function objectiveOf({ spec }: Trial): PlanObjective | undefined {
  const { objectiveMetricName: name, type, additionalMetricNames, metricStrategies } =
    spec?.objective ?? {};
  if (!name || (type !== "minimize" && type !== "maximize")) return undefined;
  const strategies = metricStrategies?.length ? metricStrategies : undefined;
  return { name, type, additional: additionalMetricNames ?? [], strategies };
}

function ruleNotices(trial: Trial, problems: readonly RuleProblem[]): Notice[] {
  return problems.map(({ index, rule, why }) => ({
    about: aboutTrial(trial),
    reason: EVENT_REASONS.ruleInvalid,
    message:
      `the trial will not be stopped by its rules, since earlyStoppingRules[${index}] (${rule}) ` +
      `cannot be applied: ${why}`,
  }));
}

function templateNotice(trial: Trial, message: string): Notice {
  return { about: aboutTrial(trial), reason: EVENT_REASONS.trialTemplateInvalid, message };
}

/** Derives the plan of a trial whose claim holds. */
function deriveTrialPlan(
  { kind, job, namesakes }: PlanInputs,
  trial: Trial,
  settings: PlanSettings,
): DerivedPlan {
  if (!comesByPush(trial, settings)) return NONE;
  // Katib deletes the log before the Trial goes: rows that came later would stay.
  if (trial.metadata.deletionTimestamp !== undefined) {
    const why = `Trial "${trial.metadata.name}" is being deleted`;
    return { decision: { kind: "gone", why }, notices: [] };
  }
  const clash = nameClash(trial, settings.namesOnly ? namesakes : []);
  if (clash.loses) return refused("an older Trial has the same name", clash.notices);
  const notices = [...clash.notices];
  const objective = objectiveOf(trial);
  if (objective === undefined) {
    const why = "spec.objective must have an objectiveMetricName and the type minimize or maximize";
    return refused(why, [...notices, templateNotice(trial, `${why}; nothing is recorded`)]);
  }
  const read = mappingOf(trial.spec, kind);
  const wrong = read.ok ? [] : read.problems.map((it) => `spec.${problemsSummary([it])}`);
  notices.push(...wrong.map((it) => templateNotice(trial, it)));
  const mapping = read.ok ? read.mapping : readPodsOnly(trial.spec, kind);
  if (mapping === undefined) return refused("the Trial's template is invalid", notices);
  const grace = graceOf(kind, job, trial);
  const { namespace = "", name = "", uid = "" } = trial.metadata;
  const written = trial.spec?.earlyStoppingRules ?? [];
  const { rules, problems } = readRules(written);
  const alsoRecorded = written.flatMap(({ name }) => typeof name === "string" ? [name] : []);
  const plan: ObservationPlan = {
    kind: "plan",
    key: { kind: "trial", namespace, name, uid },
    job: { ...jobRefOf(kind, job), namespace },
    objective,
    records: "named",
    ...(problems.length > 0 && { alsoRecorded }),
    rules,
    mapping,
    needsLabel: collectorOf(trial) !== COLLECTORS.push,
    graceMs: grace.ms ?? 0,
  };
  return {
    decision: plan,
    notices: [...notices, ...grace.notices, ...ruleNotices(trial, problems)],
  };
}

/**
 * Derives the plan of a TrainJob. The job of a Trial whose metrics come by push is recorded under the Trial's
 * name and judged by the Trial's rules; a claim that does not hold is refused. A job without a Trial follows
 * its own annotations; without those it is recorded if the log keeps such jobs.
 */
export function derivePlan(view: PlanInputs, settings: PlanSettings): DerivedPlan {
  const { kind, job } = view;
  const claim = judgeClaim(view);
  if (claim.kind === "holds") return deriveTrialPlan(view, claim.trial, settings);
  if (claim.kind === "none") {
    const { plan, notices } = deriveJobPlan(kind, job, settings);
    return { decision: plan ?? { kind: "none" }, notices };
  }
  // With a Trial that is deleted its job goes a moment later.
  if (job.metadata.deletionTimestamp !== undefined) return refused(claim.why, []);
  const message = `not recorded as a trial: ${claim.why}`;
  const about = [aboutJob(jobRefOf(kind, job)), ...claim.rivals.map(aboutTrial)];
  const reason = EVENT_REASONS.trialClaimRefused;
  return refused(claim.why, about.map((it) => ({ about: it, reason, message })));
}
