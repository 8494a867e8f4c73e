/** Words for ends of trials: rules, what decided an early stop, and failures. Pure. */
import type { AnyJob, JobKind } from "../../crds/job_kind.ts";
import { TRAINJOB_REASONS } from "../../crds/names.ts";
import { earlyStopOf, failureOf, storedStopOf } from "../../crds/job_state.ts";
import { asObject, compact } from "../../platform/base/json.ts";
import type { StopsAt } from "../../trials/rules/rule.ts";
import { type FoundTrial, SEARCH_LIMITS, shortText } from "./search.ts";
import type { StoppedBy, TrialStop } from "../../crds/wire/searches.ts";

const COMPARISONS: ReadonlyMap<unknown, string> = new Map([
  ["greater", "above"],
  ["less", "below"],
  ["equal", "equal to"],
  ["atLeast", "at least"],
  ["atMost", "at most"],
]);

const wordOf = (value: unknown): string =>
  typeof value === "string" || typeof value === "number" ? String(value) : "?";

/** Returns a rule in words, such as `loss above 2.5 at report 4`. */
export function ruleWords(rule: unknown): string {
  const { name, value, comparison, startStep, unit, lasting } = asObject(rule);
  const compared = comparison === "nan"
    ? "is NaN"
    : `${COMPARISONS.get(comparison) ?? wordOf(comparison)} ${wordOf(value)}`;
  const step = Number(startStep ?? 0);
  const when = unit === "step"
    ? `from step ${wordOf(startStep)} on`
    : step === 0
    ? "at any report"
    : lasting === true
    ? `from report ${wordOf(startStep)} on`
    : `at report ${wordOf(startStep)}`;
  return shortText(`${wordOf(name)} ${compared} ${when}`);
}

/** Returns the rules of a list in words; of alternatives one text. */
export function rulesInWords(
  rules: readonly unknown[],
  stopsAt: StopsAt = "all",
): readonly string[] {
  const words = rules.slice(0, SEARCH_LIMITS.rules).map(ruleWords);
  return stopsAt === "all" ? words : [shortText(words.join(" or "))];
}

/** Returns why a job was, or is being, stopped; undefined if its object does not say that it is. */
export function stopOfJob(kind: JobKind, job: AnyJob): TrialStop | undefined {
  const stored = storedStopOf(job);
  const condition = earlyStopOf(kind, job);
  const { user } = stored ?? {};
  const reason = stored?.reason ?? condition?.reason ?? "";
  const message = stored?.message ?? condition?.message ?? "";
  if (stored === undefined && condition === undefined) return undefined;
  const isPruned = reason === TRAINJOB_REASONS.pruned;
  if (user === undefined && !isPruned) {
    return { by: "rules", ...(message !== "" && { text: shortText(message) }) };
  }
  const text = [reason, message].filter((it) => it !== "").join(": ");
  return {
    by: isPruned ? "pruner" : "request",
    text: shortText(text),
    ...(user !== undefined && { user: shortText(user) }),
  };
}

/** What a job says of its end. */
export type JobEnd = Pick<FoundTrial, "stop" | "message">;

/** Returns why a job was stopped, and why it failed or fails; nothing of what its object does not say. */
export function endOfJob(kind: JobKind, job: AnyJob): JobEnd {
  const { headline } = failureOf(job) ?? {};
  return compact({ stop: stopOfJob(kind, job), message: headline && shortText(headline) });
}

/** Returns why a trial was stopped, by its job where that is known, else only by its rules (in words). */
export function stopOfTrial(rules: readonly string[], job: TrialStop | undefined): TrialStop {
  const had = rules.length > 0 && { rules };
  if (job !== undefined) return { ...job, ...(job.by === "rules" && had) };
  return rules.length > 0 ? { by: "rules", ...had } : { by: "unknown" };
}

/** What stopped a trial, as one text for all that were stopped by the same. */
function causeOf({ by, text, rules = [], user }: TrialStop): string {
  const [reason = ""] = text?.split(":") ?? [];
  if (by === "pruner") return user === undefined ? reason : `${reason} by ${user}`;
  if (by === "request") {
    return `${reason === "" ? "A request" : reason}, asked for by ${user ?? "somebody"}`;
  }
  if (by === "unknown") return "Nothing says by what";
  // A TrainJob's own rules are not shown with each of its numbers.
  return rules.length > 0 ? rules.join(" and ") : text ?? "Its rules";
}

/** Returns what stopped which trials, what stopped most first. */
export function stoppedBy(
  trials: readonly { readonly name: string; readonly stop?: TrialStop }[],
): readonly StoppedBy[] {
  const stopped = trials.flatMap(({ name, stop }) =>
    stop === undefined ? [] : [{ name, text: causeOf(stop) }]
  );
  return [...Map.groupBy(stopped, ({ text }) => text)]
    .map(([text, all]) => ({ text, trials: all.map(({ name }) => name) }))
    .sort((one, other) => other.trials.length - one.trials.length);
}
