/** Fuzz test of plans: a Trial of any shape must not end the term. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { WATCHED } from "../../../crds/watched.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { ONE_RUN } from "../../../trials/recording/present_run.ts";
import { createLogState } from "../../../owner/observations/log_state.ts";
import { derivePlan } from "../../../trials/plan/derive_plan.ts";

const odd = fc.oneof(
  fc.constantFrom<unknown>(null, undefined, 0, -1, true, "", "a", "x.#(", "NaN", [], {}, [null], {
    a: 1,
  }),
  fc.jsonValue(),
);
const spec = fc.record({
  objective: fc.oneof(
    odd,
    fc.record({
      type: fc.constantFrom("minimize", "maximize"),
      objectiveMetricName: fc.constantFrom("loss", "a/b"),
      additionalMetricNames: odd,
      metricStrategies: odd,
    }, { requiredKeys: ["type", "objectiveMetricName"] }),
  ),
  earlyStoppingRules: fc.oneof(
    odd,
    fc.array(odd),
    fc.array(fc.record({
      name: odd,
      value: odd,
      comparison: odd,
      startStep: odd,
    })),
  ),
  runSpec: fc.constant({ apiVersion: "trainer.kubeflow.org/v1alpha1", kind: "TrainJob" }),
  metricsCollector: fc.constant({ collector: { kind: "Push" } }),
  primaryPodLabels: odd,
  primaryPodLabel: odd,
  primaryContainerName: odd,
  successCondition: odd,
  failureCondition: odd,
  succeededCondition: odd,
  retain: odd,
  retainRun: odd,
}, { requiredKeys: ["runSpec", "metricsCollector"] });

Deno.test("a plan is made of a Trial of any shape, and its log is begun", () => {
  const trialKind = WATCHED.trial;
  const jobKind = WATCHED.trainJob;
  let plans = 0;
  fc.assert(
    fc.property(spec, odd, (spec, status) => {
      const trial = trialKind.parse({
        apiVersion: "kubeflow.org/v1beta1",
        kind: "Trial",
        metadata: { name: "a", namespace: "default", uid: "t" },
        spec,
        status,
      });
      const owner = {
        apiVersion: "kubeflow.org/v1beta1",
        kind: "Trial",
        name: "a",
        uid: "t",
        controller: true,
      };
      const trainJob = jobKind.parse({
        apiVersion: "trainer.kubeflow.org/v1alpha1",
        kind: "TrainJob",
        metadata: { name: "a", namespace: "default", uid: "j", ownerReferences: [owner] },
        spec: { runtimeRef: { name: "r" } },
      });
      const { decision } = derivePlan(
        { kind: TRAINJOB, job: trainJob, trial, claimants: [trial], namesakes: [] },
        { adopted: new Set(), namesOnly: true, keepsPlainJobs: false, keepsSteps: true },
      );
      if (decision.kind !== "plan") return;
      plans++;
      const state = createLogState(decision, [{
        time: "2026-01-01T00:00:00Z",
        name: "loss",
        value: "1",
      }], { present: ONE_RUN, keepsRuns: true });
      state.observation();
    }),
    { numRuns: 2000, seed: 7 },
  );
  assert.ok(plans > 50, `${plans}`);
});
