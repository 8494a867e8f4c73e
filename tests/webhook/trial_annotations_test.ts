/** Tests of the annotations of a TrainJob about trials: refusals, and the time until which they may change. */
import assert from "node:assert/strict";
import type { TrainJob, TrainJobStatus } from "../../crds/trainjob.ts";
import { causeOf } from "../../crds/field_problem.ts";
import { causeText } from "../../crds/status_cause.ts";
import {
  annotationWarnings,
  trialAnnotationProblems,
  withCompared,
} from "../../webhook/trial_annotations.ts";
import { mayHaveRun } from "../../webhook/trainjob_validation.ts";
import { trainJob } from "./builders.ts";

const EARLY = "trainer.kubeflow.org/early-stopping";
const COMPARE = "trainer.kubeflow.org/early-stopping-compare";
const STOP_WHEN = "trainer.kubeflow.org/stop-when";
const GRACE = "trainer.kubeflow.org/early-stopping-grace";
const TEMPLATE = "trainer.kubeflow.org/trial-template";

const rules = (value: string) =>
  JSON.stringify({
    objective: { name: "loss", type: "minimize" },
    rules: [{ name: "loss", value, comparison: "greater" }],
  });
const RULES = rules("0.5");

type Owner = NonNullable<TrainJob["metadata"]["ownerReferences"]>[number];
const trial: Owner = {
  apiVersion: "kubeflow.org/v1beta1",
  kind: "Trial",
  name: "tj",
  uid: "t1",
  controller: true,
};

/** Parts of a TrainJob of these tests. */
interface Made {
  annotations?: Record<string, string>;
  owner?: Owner;
  suspend?: boolean;
  status?: TrainJobStatus;
}

function made({ annotations = {}, owner, suspend, status }: Made): TrainJob {
  const job = trainJob({ ...(suspend !== undefined && { suspend }) }, {
    annotations,
    ...(owner && { ownerReferences: [owner] }),
  });
  return status === undefined ? job : { ...job, status };
}

const counts = { name: "node", ready: 0, succeeded: 0, failed: 0, active: 0, suspended: 1 };
const FROZEN = (annotation: string) =>
  `metadata.annotations[${annotation}]: Forbidden: is immutable once the TrainJob has started: make a new TrainJob`;
const ofTrial = (annotation: string) =>
  `metadata.annotations[${annotation}]: Forbidden: this TrainJob is controlled by a Trial, whose spec.earlyStoppingRules hold: remove the annotation`;
const OF_TRIAL = ofTrial(EARLY);
const BOTH =
  `metadata.annotations[${STOP_WHEN}]: Forbidden: the job has rules in ${EARLY} as well: keep one of the two annotations`;

const cases: Record<string, { old?: Made; job: Made; want: string[] }> = {
  "admits all three": {
    job: { annotations: { [EARLY]: RULES, [GRACE]: "1h", [TEMPLATE]: "{}" } },
    want: [],
  },
  "names the place in the JSON": {
    job: { annotations: { [EARLY]: rules("much") } },
    want: [
      `metadata.annotations[${EARLY}].rules[0].value: Invalid value: "much": must be a decimal number in a string, such as "0.5", and not NaN`,
    ],
  },
  "refuses what is no JSON": {
    job: { annotations: { [EARLY]: "loss < 1" } },
    want: [
      `metadata.annotations[${EARLY}]: Invalid value: "loss < 1": must be JSON: Unexpected token 'l', "loss < 1" is not valid JSON`,
    ],
  },
  "refuses a grace above the bound": {
    job: { annotations: { [GRACE]: "61m" } },
    want: [
      `metadata.annotations[${GRACE}]: Invalid value: "61m": must be a duration from 0s to 1h, such as 30s or 1m30s`,
    ],
  },
  "refuses a template that is no object, and one of odd types": {
    job: { annotations: { [TEMPLATE]: "[]" } },
    want: [
      `metadata.annotations[${TEMPLATE}]: Invalid value: "[]": must be an object, as a trialTemplate of Katib`,
    ],
  },
  "names a label of a template that is no string": {
    job: { annotations: { [TEMPLATE]: '{"primaryPodLabels": {"role": 1}}' } },
    want: [
      `metadata.annotations[${TEMPLATE}].primaryPodLabels.role: Invalid value: 1: must be a string`,
    ],
  },
  "refuses rules on a trial's job": {
    job: { annotations: { [EARLY]: RULES }, owner: trial },
    want: [OF_TRIAL],
  },
  "admits grace and template on a trial's job": {
    job: { annotations: { [GRACE]: "0s", [TEMPLATE]: "{}" }, owner: trial },
    want: [],
  },
  "admits rules beside an owner that is no controller, or of another group": {
    job: { annotations: { [EARLY]: RULES }, owner: { ...trial, controller: false } },
    want: [],
  },
  "refuses rules below a Trial of another version": {
    job: { annotations: { [EARLY]: RULES }, owner: { ...trial, apiVersion: "kubeflow.org/v1" } },
    want: [OF_TRIAL],
  },
  "admits rules below a Trial of another group": {
    job: { annotations: { [EARLY]: RULES }, owner: { ...trial, apiVersion: "acme.io/v1" } },
    want: [],
  },
  "refuses a Trial that takes over a job with rules": {
    old: { annotations: { [EARLY]: RULES } },
    job: { annotations: { [EARLY]: RULES }, owner: trial },
    want: [OF_TRIAL],
  },
  "does not judge again what did not change": {
    old: { annotations: { [EARLY]: "{}" }, owner: trial },
    job: { annotations: { [EARLY]: "{}" }, owner: trial, suspend: true },
    want: [],
  },
  "refuses other rules of a running job": {
    old: { annotations: { [EARLY]: RULES } },
    job: { annotations: { [EARLY]: rules("0.6") } },
    want: [FROZEN(EARLY)],
  },
  "refuses rules that come to a running job": {
    old: {},
    job: { annotations: { [EARLY]: RULES, [TEMPLATE]: "{}" } },
    want: [FROZEN(EARLY), FROZEN(TEMPLATE)],
  },
  "refuses rules that go, also with the suspension": {
    old: { annotations: { [EARLY]: RULES } },
    job: { suspend: true },
    want: [FROZEN(EARLY)],
  },
  "admits another grace at any time": {
    old: { annotations: { [GRACE]: "1s" } },
    job: { annotations: { [GRACE]: "2s" } },
    want: [],
  },
  "names the place in a line": {
    job: { annotations: { [STOP_WHEN]: "loss is nan\nloss > high" } },
    want: [
      `metadata.annotations[${STOP_WHEN}]: Invalid value: "loss > high": line 2, character 8: expected a number, such as 10, 0.5 or 1e-3 (NaN is tested by: is nan)`,
    ],
  },
  "refuses rules in both spellings": {
    job: { annotations: { [EARLY]: RULES, [STOP_WHEN]: "loss is nan" } },
    want: [BOTH],
  },
  "refuses the second spelling that comes to a job of the first": {
    old: { annotations: { [EARLY]: RULES }, suspend: true },
    job: { annotations: { [EARLY]: RULES, [STOP_WHEN]: "loss is nan" }, suspend: true },
    want: [BOTH],
  },
  "refuses lines on a trial's job": {
    job: { annotations: { [STOP_WHEN]: "loss is nan" }, owner: trial },
    want: [ofTrial(STOP_WHEN)],
  },
  "refuses other lines of a running job": {
    old: { annotations: { [STOP_WHEN]: "loss is nan" } },
    job: { annotations: { [STOP_WHEN]: "loss > 10" } },
    want: [FROZEN(STOP_WHEN)],
  },
  "refuses that rules of a running job compare something else": {
    old: { annotations: { [EARLY]: RULES, [COMPARE]: "newest" } },
    job: { annotations: { [EARLY]: RULES, [COMPARE]: "best" } },
    want: [FROZEN(COMPARE)],
  },
  "blames the rules where what they compare came with them": {
    old: {},
    job: { annotations: { [EARLY]: RULES, [COMPARE]: "newest" } },
    want: [FROZEN(EARLY)],
  },
  "refuses what rules cannot compare": {
    job: { annotations: { [EARLY]: RULES, [COMPARE]: "latest" } },
    want: [`metadata.annotations[${COMPARE}]: Invalid value: "latest": must be newest or best`],
  },
  "admits other rules of a job that was never started": {
    old: { annotations: { [EARLY]: RULES }, suspend: true, status: { jobsStatus: [counts] } },
    job: { annotations: { [EARLY]: rules("0.6") }, suspend: true },
    want: [],
  },
  "admits other rules with the first start": {
    old: { annotations: { [EARLY]: RULES }, suspend: true },
    job: { annotations: { [EARLY]: rules("0.6") }, suspend: false },
    want: [],
  },
  "refuses other rules of a suspended job that has reported": {
    old: {
      annotations: { [EARLY]: RULES },
      suspend: true,
      status: { trainerStatus: { lastUpdatedTime: "2026-01-02T03:04:05Z" } },
    },
    job: { annotations: { [EARLY]: rules("0.6") }, suspend: true },
    want: [FROZEN(EARLY)],
  },
  "refuses other rules of a suspended job whose pods are still there": {
    old: {
      annotations: { [EARLY]: RULES },
      suspend: true,
      status: { jobsStatus: [{ ...counts, active: 1 }] },
    },
    job: { annotations: { [EARLY]: rules("0.6") }, suspend: true },
    want: [FROZEN(EARLY)],
  },
};

const POLICY = "trainer.kubeflow.org/stall-policy";
const policies: Record<string, { policy: string; want: string[] }> = {
  "admits a policy of stalls": { policy: '{"action": "Restart", "after": "10m"}', want: [] },
  "refuses a policy that is no JSON": {
    policy: "Restart",
    want: [
      `metadata.annotations[${POLICY}]: Invalid value: "Restart": must be JSON: Unexpected token 'R', "Restart" is not valid JSON`,
    ],
  },
  "refuses an action that there is not": {
    policy: '{"action": "Reboot"}',
    want: [
      `metadata.annotations[${POLICY}].action: Invalid value: "Reboot": must be one of Notify, Restart, Stop, Ignore`,
    ],
  },
  "refuses a field that there is not, and a duration below 30 s": {
    policy: '{"action": "Stop", "startup": "10s", "until": "1h"}',
    want: [
      `metadata.annotations[${POLICY}].startup: Invalid value: "10s": must be a duration of at least 30s, such as 90s or 10m`,
      `metadata.annotations[${POLICY}].until: Invalid value: "1h": is not known`,
    ],
  },
};
for (const [sentence, { policy, want }] of Object.entries(policies)) {
  Deno.test(`\`trialAnnotationProblems()\` ${sentence}`, () => {
    const job = made({ annotations: { [POLICY]: policy } });
    const problems = trialAnnotationProblems(job, undefined, mayHaveRun);
    assert.deepEqual(problems.map((it) => causeText(causeOf(it))), want);
    assert.deepEqual(trialAnnotationProblems(job, job, mayHaveRun), [], "of one that was there");
  });
}

Deno.test("`annotationWarnings()` warns once of a policy for a job that another controller runs", () => {
  const job = made({ annotations: { [POLICY]: '{"action": "Restart"}' } });
  assert.deepEqual(annotationWarnings(job, undefined, "kueue.x-k8s.io/multikueue"), [
    `metadata.annotations[${POLICY}] does nothing in this cluster: kueue.x-k8s.io/multikueue runs this TrainJob elsewhere`,
  ]);
  assert.deepEqual(annotationWarnings(job, job, "kueue.x-k8s.io/multikueue"), []);
  assert.deepEqual(annotationWarnings(job, undefined), []);
});

for (const [sentence, { old, job, want }] of Object.entries(cases)) {
  Deno.test(`\`trialAnnotationProblems()\` ${sentence}`, () => {
    const problems = trialAnnotationProblems(made(job), old && made(old), mayHaveRun);
    assert.deepEqual(problems.map((it) => causeText(causeOf(it))), want);
  });
}

Deno.test("`annotationWarnings()` warns once that a trial's job needs no template", () => {
  const job = made({ annotations: { [TEMPLATE]: "{}" }, owner: trial });
  assert.deepEqual(annotationWarnings(job, undefined), [
    `metadata.annotations[${TEMPLATE}] is not read: a Trial controls this TrainJob`,
  ]);
  assert.deepEqual(annotationWarnings(job, job), []);
  assert.deepEqual(
    annotationWarnings(made({ annotations: { [TEMPLATE]: "{}" } }), undefined),
    [],
  );
});

const unknown: Record<string, { key: string; want: string | undefined }> = {
  "a slip of a letter, with what may be meant": {
    key: "trainer.kubeflow.org/stop-whem",
    want: `; did you mean ${STOP_WHEN}?`,
  },
  "a name that is spelt like a field": {
    key: "trainer.kubeflow.org/ttlSecondsAfterFinished",
    want: "; did you mean trainer.kubeflow.org/ttl-seconds-after-finished?",
  },
  "a name that is like none": { key: "trainer.kubeflow.org/colour", want: "" },
  "nothing of a known one": { key: GRACE, want: undefined },
  "nothing of another prefix": { key: "example.org/stop-whem", want: undefined },
};
for (const [what, { key, want }] of Object.entries(unknown)) {
  Deno.test(`\`annotationWarnings()\` tells once ${what}`, () => {
    const job = made({ annotations: { [key]: "1" } });
    const told = `metadata.annotations[${key}] is not known, and does nothing`;
    assert.deepEqual(annotationWarnings(job, undefined), want === undefined ? [] : [told + want]);
    assert.deepEqual(annotationWarnings(job, job), []);
  });
}

Deno.test("`annotationWarnings()` compares few of many unknown annotations", () => {
  const keys = Array.from({ length: 100 }, (_, at) => `trainer.kubeflow.org/a${at}`);
  const job = made({ annotations: Object.fromEntries(keys.map((it) => [it, "1"])) });
  assert.equal(annotationWarnings(job, undefined).length, 5);
});

const compared: Record<string, { old?: Made; job: Made; want: string | undefined }> = {
  "the newest value, of a new job": { job: { annotations: { [EARLY]: RULES } }, want: "newest" },
  "what its author says": {
    job: { annotations: { [EARLY]: RULES, [COMPARE]: "best" } },
    want: "best",
  },
  "nothing where there is no rule": {
    job: { annotations: { [STOP_WHEN]: "a > 1" } },
    want: undefined,
  },
  "the newest value, of a job that gets rules": {
    old: { suspend: true },
    job: { annotations: { [EARLY]: RULES }, suspend: true },
    want: "newest",
  },
  "the same as before, where a replacement lacks it": {
    old: { annotations: { [EARLY]: RULES, [COMPARE]: "newest" } },
    job: { annotations: { [EARLY]: RULES } },
    want: "newest",
  },
  "nothing new of a job that is older": {
    old: { annotations: { [EARLY]: RULES } },
    job: { annotations: { [EARLY]: rules("0.6") } },
    want: undefined,
  },
};

for (const [sentence, { old, job, want }] of Object.entries(compared)) {
  Deno.test(`\`withCompared()\` writes ${sentence}`, () => {
    const given = made(job);
    const { annotations, ...rest } = withCompared(given, old && made(old));
    assert.equal(annotations?.[COMPARE], want);
    const { annotations: before, ...others } = given.metadata;
    assert.deepEqual([{ ...annotations, [COMPARE]: "" }, rest], [
      { ...before, [COMPARE]: "" },
      others,
    ]);
  });
}
