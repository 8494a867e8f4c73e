/** Tests of plans: claims, what is recorded, and warnings. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import type { TrainJob } from "../../../crds/trainjob.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import type { Trial } from "../../../crds/trial.ts";
import { type DerivedPlan, derivePlan, type PlanInputs } from "../../../trials/plan/derive_plan.ts";
import type { ObservationPlan, PlanSettings } from "../../../trials/plan/observation_plan.ts";
import { createSummary } from "../../../trials/recording/summary.ts";
import type { OwnerRef } from "../../../platform/kube/resource.ts";
import { jobOf, trial } from "../../katib/trials/builders.ts";

const SETTINGS: PlanSettings = {
  adopted: new Set(),
  namesOnly: true,
  keepsPlainJobs: false,
  keepsSteps: true,
};

function view(of: Trial | undefined, more: Partial<PlanInputs> = {}): PlanInputs {
  const job = jobOf(of);
  return { kind: TRAINJOB, job, trial: of, claimants: of ? [of] : [], namesakes: [], ...more };
}

function plan(planned: DerivedPlan): ObservationPlan {
  if (planned.decision.kind !== "plan") throw new Error(JSON.stringify(planned.decision));
  return planned.decision;
}

/** Notices as `Kind name: Reason message`. */
function told({ notices }: DerivedPlan): string[] {
  return notices.map(({ about, reason, message }) =>
    `${about.kind} ${about.name}: ${reason} ${message}`
  );
}

Deno.test("`derivePlan()` records a trial of Push under the Trial's name, by its objective and rules", () => {
  const planned = derivePlan(view(trial()), SETTINGS);
  const { mapping, ...rest } = plan(planned);
  deepEqual(rest, {
    kind: "plan",
    key: { kind: "trial", namespace: "ml", name: "t1", uid: "uid-of-t1" },
    job: { kind: TRAINJOB, namespace: "ml", name: "t1", uid: "uid-of-job-t1" },
    objective: {
      name: "loss",
      type: "minimize",
      additional: ["accuracy"],
      strategies: [{ name: "loss", value: "min" }, { name: "accuracy", value: "min" }],
    },
    records: "named",
    rules: [{ name: "loss", value: "0.5", comparison: "greater", startStep: 3 }],
    needsLabel: false,
    graceMs: 0,
  });
  equal(mapping?.primaryContainerName, "node");
  equal(mapping?.primaryPodLabels?.["jobset.sigs.k8s.io/replicatedjob-name"], "node");
  deepEqual(planned.notices, []);
});

Deno.test("`derivePlan()` observes every recorded metric of a Trial without strategies, as Katib's defaults do", () => {
  for (const metricStrategies of [undefined, []]) {
    const objective = { ...trial().spec?.objective, metricStrategies };
    const { objective: planned } = plan(derivePlan(view(trial({ objective })), SETTINGS));
    const observed = createSummary().observation(planned);
    deepEqual(observed.map(({ name }) => name), ["loss", "accuracy"]);
  }
});

Deno.test("`derivePlan()` records nothing more of a Trial that is being deleted", () => {
  const made = trial({}, { deletionTimestamp: "2026-01-01T00:00:01Z" });
  const planned = derivePlan(view(made), SETTINGS);
  deepEqual(planned, {
    decision: { kind: "gone", why: 'Trial "t1" is being deleted' },
    notices: [],
  });
});

const owner = (more: Partial<OwnerRef>): TrainJob =>
  jobOf(trial(), {
    ownerReferences: [{
      apiVersion: "kubeflow.org/v1beta1",
      kind: "Trial",
      name: "t1",
      uid: "uid-of-t1",
      controller: true,
      ...more,
    }],
  });

const IMPOSTORS: Record<string, { view: PlanInputs; why: RegExp }> = {
  "names a Trial that is not there": {
    view: view(undefined, { job: jobOf(trial()) }),
    why: /^there is no Trial "t1"$/,
  },
  "names a Trial by another UID": {
    view: view(trial(), { job: owner({ uid: "another" }) }),
    why: /^Trial "t1" has the UID uid-of-t1, but the job names the UID another$/,
  },
  "has another name than the Trial": {
    view: view(trial(), { job: jobOf(trial(), { name: "t1-copy" }) }),
    why: /must have the Trial's name$/,
  },
  "is of another kind than the Trial makes": {
    view: view(trial({ runSpec: { apiVersion: "batch/v1", kind: "Job" } })),
    why:
      /^the runSpec of Trial "t1" is a batch\/v1 Job, not a trainer.kubeflow.org\/v1alpha1 TrainJob$/,
  },
  "is of another apiVersion than the Trial makes": {
    view: view(trial({ runSpec: { apiVersion: "trainer.kubeflow.org/v2", kind: "TrainJob" } })),
    why: /is a trainer.kubeflow.org\/v2 TrainJob/,
  },
  "is of another kind of the same group": {
    view: view(trial({
      runSpec: { apiVersion: "trainer.kubeflow.org/v1alpha1", kind: "TrainingRuntime" },
    })),
    why: /is a trainer.kubeflow.org\/v1alpha1 TrainingRuntime, not a/,
  },
  "is of a Trial that makes nothing": {
    view: view(trial({ runSpec: undefined })),
    why: /is a nothing/,
  },
};
for (const [sentence, { view, why }] of Object.entries(IMPOSTORS)) {
  Deno.test(`\`derivePlan()\` refuses a job that ${sentence}, with an event on the job`, () => {
    const planned = derivePlan(view, SETTINGS);
    ok(planned.decision.kind === "refused");
    match(planned.decision.why, why);
    const { name } = view.job.metadata;
    deepEqual(told(planned), [
      `TrainJob ${name}: TrialClaimRefused not recorded as a trial: ${planned.decision.why}`,
    ]);
  });
}

Deno.test("`derivePlan()` reports nothing about a job that is deleted with its Trial", () => {
  const trainJob = jobOf(trial(), { deletionTimestamp: "2026-01-01T00:00:00Z" });
  const { decision, notices } = derivePlan(view(undefined, { job: trainJob }), SETTINGS);
  equal(decision.kind, "refused");
  deepEqual(notices, []);
});

Deno.test("`derivePlan()` leaves a job alone that two Trials claim, with an event on all three", () => {
  const first = trial();
  const second = trial({ runSpec: { ...first.spec?.runSpec } }, { name: "t2" });
  const planned = derivePlan(view(first, { claimants: [first, second] }), SETTINGS);
  const why = 'the Trials "t1" and "t2" claim the same job';
  deepEqual(planned.decision, { kind: "refused", why });
  deepEqual(told(planned), [
    `TrainJob t1: TrialClaimRefused not recorded as a trial: ${why}`,
    `Trial t1: TrialClaimRefused not recorded as a trial: ${why}`,
    `Trial t2: TrialClaimRefused not recorded as a trial: ${why}`,
  ]);
});

const NO_CLAIMS: Record<string, Partial<OwnerRef>> = {
  "a Trial only owns": { controller: false },
  "a Trial of another group controls": { apiVersion: "example.com/v1" },
  "an Experiment controls": { kind: "Experiment" },
};
for (const [sentence, reference] of Object.entries(NO_CLAIMS)) {
  Deno.test(`\`derivePlan()\` finds no Trial for a job that ${sentence}`, () => {
    const planned = derivePlan(view(trial(), { job: owner(reference) }), SETTINGS);
    deepEqual(planned, { decision: { kind: "none" }, notices: [] });
  });
}

const collector = (kind?: string) => trial({ metricsCollector: kind && { collector: { kind } } });
for (const kind of ["StdOut", "File", "TensorFlowEvent", "Custom", undefined]) {
  Deno.test(`\`derivePlan()\` leaves the collector ${kind} to Katib`, () => {
    deepEqual(derivePlan(view(collector(kind)), SETTINGS), {
      decision: { kind: "none" },
      notices: [],
    });
  });
}

Deno.test("`derivePlan()` adopts the configured collectors, only of pods with the label", () => {
  const settings = { ...SETTINGS, adopted: new Set(["StdOut"]) };
  equal(plan(derivePlan(view(collector("StdOut")), settings)).needsLabel, true);
  equal(plan(derivePlan(view(collector(undefined)), settings)).needsLabel, true);
  equal(derivePlan(view(collector("File")), settings).decision.kind, "none");
});

const OLDER = trial({}, {
  namespace: "older",
  uid: "uid-older",
  creationTimestamp: "2025-12-31T00:00:00Z",
});

Deno.test("`derivePlan()` records only the oldest of Trials with one name if the log has no namespaces", () => {
  const message = "namespaces older, ml have Trials of this name, which share one log in Katib; " +
    "only the oldest, in older, is recorded";
  const want = [`Trial t1: TrialNameClash ${message}`, `Trial t1: TrialNameClash ${message}`];
  const loser = derivePlan(view(trial(), { namesakes: [OLDER] }), SETTINGS);
  equal(loser.decision.kind, "refused");
  deepEqual(told(loser), want);
  deepEqual(loser.notices.map(({ about }) => about.namespace), ["older", "ml"]);
  const winner = derivePlan(view(OLDER, { namesakes: [trial()] }), SETTINGS);
  equal(winner.decision.kind, "plan");
  deepEqual(told(winner), want);
});

Deno.test("`derivePlan()` records Trials of one name in a log that knows their namespaces", () => {
  const settings = { ...SETTINGS, namesOnly: false };
  const planned = derivePlan(view(trial(), { namesakes: [OLDER] }), settings);
  equal(planned.decision.kind, "plan");
  deepEqual(planned.notices, []);
});

Deno.test("`derivePlan()` agrees on the oldest of Trials that were made in the same second", () => {
  const twin = trial({}, { namespace: "aaa", uid: "uid-twin" });
  equal(derivePlan(view(trial(), { namesakes: [twin] }), SETTINGS).decision.kind, "refused");
  equal(derivePlan(view(twin, { namesakes: [trial()] }), SETTINGS).decision.kind, "plan");
});

Deno.test("`derivePlan()` reports each rule that cannot be applied, applies none, and records their metrics", () => {
  const rules = [
    { name: "loss", value: "0.5", comparison: "above" },
    { name: "loss", value: "high", comparison: "greater" },
    { name: "loss", value: "0.5", comparison: "greater" },
  ];
  const planned = derivePlan(view(trial({ earlyStoppingRules: rules })), SETTINGS);
  const { rules: applied, alsoRecorded } = plan(planned);
  deepEqual([applied, alsoRecorded], [[], ["loss", "loss", "loss"]]);
  const [comparison, value, ...rest] = told(planned);
  match(
    comparison ?? "",
    /^Trial t1: RuleInvalid the trial will not be stopped .* earlyStoppingRules\[0\] \(loss\) .*: its comparison "above"/,
  );
  match(
    value ?? "",
    /^Trial t1: RuleInvalid .* earlyStoppingRules\[1\] \(loss\) .*: its value "high" is not a number/,
  );
  deepEqual(rest, []);
});

Deno.test("`derivePlan()` ignores a condition that does not parse, and never counts the job as succeeded", () => {
  const planned = derivePlan(
    view(trial({ successCondition: "status.conditions.#(type==" })),
    SETTINGS,
  );
  const { mapping } = plan(planned);
  equal(mapping?.primaryPodLabels?.["batch.kubernetes.io/job-completion-index"], "0");
  equal(mapping?.success.expression.startsWith("status"), false);
  const [message = "", ...rest] = told(planned);
  match(
    message,
    /^Trial t1: TrialTemplateInvalid spec\.successCondition: GJSON at character \d+: /,
  );
  deepEqual(rest, []);
});

Deno.test("`derivePlan()` refuses a template whose primary pods cannot be identified", () => {
  const planned = derivePlan(view(trial({ primaryContainerName: undefined })), SETTINGS);
  equal(planned.decision.kind, "plan");
  for (const objective of [undefined, {}, { objectiveMetricName: "loss", type: "best" }]) {
    const refused = derivePlan(view(trial({ objective })), SETTINGS);
    equal(refused.decision.kind, "refused");
    match(told(refused)[0] ?? "", /^Trial t1: TrialTemplateInvalid spec.objective must have/);
  }
});

const GRACES: Record<string, { job?: string; trial?: string; ms: number; told?: RegExp }> = {
  "none": { ms: 0 },
  "of the Trial": { trial: "30s", ms: 30_000 },
  "of the TrainJob, before the Trial's": { job: "1m30s", trial: "30s", ms: 90_000 },
  "at most an hour": { job: "1h", ms: 3_600_000 },
  "too long": {
    trial: "2h",
    ms: 0,
    told: /^Trial t1: RuleInvalid ignored annotation .*-grace: must be a duration/,
  },
  "no duration": {
    job: "soon",
    ms: 0,
    told: /^TrainJob t1: RuleInvalid ignored annotation .*-grace: must be/,
  },
};
for (const [sentence, { job, trial: text, ms, told: wanted }] of Object.entries(GRACES)) {
  Deno.test(`\`derivePlan()\` reads the grace: ${sentence}`, () => {
    const annotations = (it: string | undefined) =>
      it === undefined ? {} : { annotations: { "trainer.kubeflow.org/early-stopping-grace": it } };
    const of = trial({}, annotations(text));
    const planned = derivePlan(view(of, { job: jobOf(of, annotations(job)) }), SETTINGS);
    equal(plan(planned).graceMs, ms);
    const [message, ...rest] = told(planned);
    if (wanted) match(message ?? "", wanted);
    else equal(message, undefined);
    deepEqual(rest, []);
  });
}

const STOPPING = JSON.stringify({
  objective: { name: "loss", type: "minimize" },
  rules: [{ name: "loss", value: "0.5", comparison: "greater", startStep: 3 }],
});

function annotated(annotations: Record<string, string>): PlanInputs {
  const prefixed = Object.entries(annotations).map((
    [key, value],
  ) => [`trainer.kubeflow.org/${key}`, value]);
  const trainJob = jobOf(undefined, { annotations: Object.fromEntries(prefixed) });
  return view(undefined, { job: trainJob });
}

Deno.test("`derivePlan()` records a plain job only if the log keeps plain jobs", () => {
  deepEqual(derivePlan(view(undefined), SETTINGS), { decision: { kind: "none" }, notices: [] });
  const { mapping, ...rest } = plan(
    derivePlan(view(undefined), { ...SETTINGS, keepsPlainJobs: true }),
  );
  const job = { namespace: "ml", name: "tj", uid: "uid-of-job-tj" };
  deepEqual(rest, {
    kind: "plan",
    key: { kind: "job", ...job },
    job: { kind: TRAINJOB, ...job },
    objective: undefined,
    records: "all",
    isPlain: true,
    rules: [],
    graceMs: 0,
  });
  deepEqual(mapping?.primaryPodLabels, { "batch.kubernetes.io/job-completion-index": "0" });
});

Deno.test("`derivePlan()` stops a job without a Trial by its annotation with every kind of log", () => {
  const planned = derivePlan(
    annotated({ "early-stopping": STOPPING, "early-stopping-grace": "10s" }),
    SETTINGS,
  );
  const { key, objective, records, rules, graceMs } = plan(planned);
  equal(key.kind, "job");
  deepEqual(objective, { name: "loss", type: "minimize", additional: [] });
  equal(records, "all");
  const rule = { name: "loss", value: "0.5", comparison: "greater", startStep: 3 };
  deepEqual(rules, [{ ...rule, compare: "best" }]);
  equal(graceMs, 10_000);
  deepEqual(planned.notices, []);
});

for (const spelling of ["primaryPodLabel", "primaryPodLabels"]) {
  Deno.test(`\`derivePlan()\` reads the template of another trial controller: ${spelling}`, () => {
    const template = JSON.stringify({
      [spelling]: { role: "master" },
      primaryContainerName: "main",
      succeededCondition: "Complete",
    });
    const { mapping, rules } = plan(
      derivePlan(annotated({ "trial-template": template }), SETTINGS),
    );
    deepEqual(mapping?.primaryPodLabels, { role: "master" });
    equal(mapping?.primaryContainerName, "main");
    deepEqual(rules, []);
  });
}

Deno.test("`derivePlan()` ignores invalid annotations, and reports their problems", () => {
  const planned = derivePlan(
    annotated({ "early-stopping": '{"rules": []}', "trial-template": "[" }),
    { ...SETTINGS, keepsPlainJobs: true },
  );
  deepEqual(plan(planned).rules, []);
  const [stopping = "", template = "", ...rest] = told(planned);
  match(stopping, /^TrainJob tj: RuleInvalid ignored annotation \S+early-stopping: .*rules/);
  match(
    template,
    /^TrainJob tj: TrialTemplateInvalid ignored annotation \S+trial-template: /,
  );
  deepEqual(rest, []);
});

Deno.test("`derivePlan()` never counts an annotated job as succeeded if its condition does not parse", () => {
  const template = JSON.stringify({ successCondition: "a.#(b==" });
  const planned = derivePlan(annotated({ "trial-template": template }), SETTINGS);
  equal(plan(planned).mapping?.success.expression.startsWith("a."), false);
  match(told(planned)[0] ?? "", /TrialTemplateInvalid .*successCondition: GJSON at character/);
});

Deno.test("`derivePlan()` counts the first pod if an annotated template has no labels, or two spellings", () => {
  const role = { role: "x" };
  for (
    const template of [
      { primaryPodLabels: {} },
      { primaryPodLabel: role, primaryPodLabels: role },
    ]
  ) {
    const job = annotated({ "trial-template": JSON.stringify(template) });
    deepEqual(plan(derivePlan(job, SETTINGS)).mapping?.primaryPodLabels, {
      "batch.kubernetes.io/job-completion-index": "0",
    });
  }
});

Deno.test("`derivePlan()` follows the Trial if there is one, not the annotations of its job", () => {
  const of = trial();
  const trainJob = jobOf(of, { annotations: { "trainer.kubeflow.org/early-stopping": STOPPING } });
  equal(plan(derivePlan(view(of, { job: trainJob }), SETTINGS)).key.kind, "trial");
});

const STEPS = JSON.stringify({
  objective: { name: "loss", type: "minimize" },
  rules: [
    { name: "loss", value: "0.5", comparison: "greater" },
    { name: "loss", value: "0.5", comparison: "greater", startStep: 300, unit: "step" },
  ],
});

Deno.test("`derivePlan()` applies rules that count steps if the log keeps steps", () => {
  const planned = derivePlan(annotated({ "early-stopping": STEPS }), SETTINGS);
  deepEqual(plan(planned).rules.map(({ unit }) => unit), [undefined, "step"]);
  deepEqual(planned.notices, []);
});

const RULES_IN_LINES = "loss > 10 after 5 reports\n\nloss is nan after step 3";

Deno.test("`derivePlan()` compares the newest value where admission or the rule says so", () => {
  const own = { name: "loss", value: "1", comparison: "less", compare: "best" };
  const text = JSON.stringify({
    ...JSON.parse(STOPPING),
    rules: [{ name: "loss", value: "1", comparison: "less" }, own],
  });
  const compared = (annotations: Record<string, string>) =>
    plan(derivePlan(annotated(annotations), SETTINGS)).rules.map(({ compare }) => compare);
  for (
    const [written, want] of [["newest", "newest"], ["best", "best"], ["odd", "best"]] as const
  ) {
    deepEqual(compared({ "early-stopping": text, "early-stopping-compare": written }), [
      want,
      "best",
    ]);
  }
  deepEqual(compared({ "early-stopping": text }), ["best", "best"]);
});

Deno.test("`derivePlan()` takes lines as alternatives, without an objective", () => {
  const planned = derivePlan(annotated({ "stop-when": RULES_IN_LINES }), SETTINGS);
  const { objective, rules, stopsAt, records } = plan(planned);
  const rule = { name: "loss", compare: "newest", lasting: true };
  deepEqual([objective, stopsAt, records, planned.notices], [undefined, "any", "all", []]);
  deepEqual(rules, [
    { ...rule, comparison: "greater", value: "10", startStep: 5, unit: "report" },
    { ...rule, comparison: "nan", startStep: 3, unit: "step" },
  ]);
});

const refusedLines: Record<string, [Record<string, string>, PlanSettings, RegExp]> = {
  "that are no rules": [{ "stop-when": "loss" }, SETTINGS, /stop-when: line 1, character 5: /],
  "beside the other spelling": [
    { "stop-when": RULES_IN_LINES, "early-stopping": STOPPING },
    SETTINGS,
    /stop-when: the job has rules in \S+early-stopping as well/,
  ],
  "that count steps, in a log without them": [
    { "stop-when": RULES_IN_LINES },
    { ...SETTINGS, keepsSteps: false },
    /since line 3 of the annotation \S+stop-when counts steps, and this observation log keeps no steps/,
  ],
};
for (const [sentence, [annotations, settings, want]] of Object.entries(refusedLines)) {
  Deno.test(`\`derivePlan()\` applies none of the lines ${sentence}`, () => {
    const planned = derivePlan(annotated(annotations), { ...settings, keepsPlainJobs: true });
    deepEqual(plan(planned).rules, []);
    const [message = "", ...rest] = told(planned);
    match(message, /^TrainJob tj: RuleInvalid /);
    match(message, want);
    deepEqual(rest, []);
  });
}

Deno.test("`derivePlan()` refuses rules that count steps with an event if the log keeps none, and applies no other", () => {
  const settings = { ...SETTINGS, keepsSteps: false };
  const planned = derivePlan(annotated({ "early-stopping": STEPS }), settings);
  deepEqual(plan(planned).rules, []);
  equal(plan(planned).records, "all");
  deepEqual(told(planned), [
    "TrainJob tj: RuleInvalid the job will not be stopped by its rules, since rules[1] of the annotation " +
    'trainer.kubeflow.org/early-stopping has the unit "step", and this observation log keeps no steps: ' +
    "count reports, or use --observation-sink memory or sqlite",
  ]);
  const counted = derivePlan(annotated({ "early-stopping": STOPPING }), settings);
  deepEqual([plan(counted).rules.length, counted.notices], [1, []]);
});

Deno.test("`derivePlan()` counts reports for the rules of a Trial, whatever unit they have", () => {
  for (const unit of ["step", "epoch", 7]) {
    const of = trial({
      earlyStoppingRules: [{ name: "loss", value: "1", comparison: "less", startStep: 2, unit }],
    });
    const planned = derivePlan(view(of), SETTINGS);
    deepEqual(plan(planned).rules, [{
      name: "loss",
      value: "1",
      comparison: "less",
      startStep: 2,
    }]);
    deepEqual(planned.notices, []);
  }
});
