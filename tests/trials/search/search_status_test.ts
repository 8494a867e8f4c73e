/** Tests of the status of a search by the records of its trials, and of the end of one trial. */
import { deepEqual, equal, match } from "node:assert/strict";
import { trialName, type TrialRecord } from "../../../crds/trial_records.ts";
import { trainJobSchema } from "../../../crds/trainjob.ts";
import { nextTrials, readSearch } from "../../../trials/search/search_plan.ts";
import { bestTrial, decideSearchStatus, searchEnd } from "../../../trials/search/search_status.ts";
import {
  endWithObjective,
  endWithoutObjective,
  isComplete,
} from "../../../trials/search/trial_end.ts";
import { optimizationJob } from "./builders.ts";

const NOW = "2026-01-01T00:00:00Z";

/** Records as `Complete 0.5`, `Running`, `Failed reason`; `-` is a trial that is not recorded. */
function records(...texts: readonly string[]): Map<number, TrialRecord> {
  return new Map(texts.flatMap((text, index): [number, TrialRecord][] => {
    const [state = "", more] = text.split(" ");
    if (
      state !== "Complete" && state !== "Running" && state !== "EarlyStopped" && state !== "Failed"
    ) {
      return [];
    }
    const rest = state === "Complete" ? { value: more } : { reason: more, message: "m" };
    const uid = more === "TrainJobRefused" ? {} : { uid: `uid-${index}` };
    return [[index, {
      name: `t-${index}`,
      values: [`${index}`],
      created: NOW,
      state,
      ...uid,
      ...rest,
    }]];
  }));
}

const best: Record<
  string,
  { readonly direction?: string; readonly of: string[]; readonly want?: string }
> = {
  "the least": { of: ["Complete 2", "Complete -1", "Complete 0"], want: "t-1" },
  "the greatest where that is better": {
    direction: "Maximize",
    of: ["Complete 2", "Complete 1e3", "Complete 0"],
    want: "t-1",
  },
  "the first of equal ones, however written": { of: ["Complete 1.0", "Complete 1"], want: "t-0" },
  "no one that has no finite number": {
    of: ["Complete NaN", "Complete -Inf", "Complete 1e999", "Complete 3"],
    want: "t-3",
  },
  "none where there is only an infinity": { of: ["Complete Inf"] },
  "none that was stopped or failed": { of: ["EarlyStopped Pruned", "Failed X", "Running"] },
};
for (const [sentence, { direction, of, want }] of Object.entries(best)) {
  Deno.test(`bestTrial() is ${sentence}`, () => {
    const job = optimizationJob({ spec: { objectives: [{ metric: "loss", direction }] } });
    equal(bestTrial(job, records(...of))?.name, want);
  });
}

const ends: Record<
  string,
  { readonly numTrials?: number; readonly of: string[]; readonly want: RegExp }
> = {
  "that goes on": { of: ["Complete 1", "Running", "Failed X", "Failed X"], want: /^undefined$/ },
  "of which a trial is to come": {
    of: ["Complete 1", "Failed X", "Failed X"],
    want: /^undefined$/,
  },
  "with one success": {
    of: ["Failed X", "Complete 1", "Failed X", "EarlyStopped Pruned"],
    want:
      /^Complete OptimizationJobCompleted: All 4 trials have ended: 1 complete, 1 stopped early, 2 failed; the best is t-1, with loss 1$/,
  },
  "of failures": {
    of: ["Failed X", "Failed X", "Failed X", "Failed X"],
    want: /^Failed AllTrialsFailed: 4 out of 4 trials failed; of t-0: X: m$/,
  },
  "of the only trial": {
    numTrials: 1,
    of: ["Complete 1"],
    want:
      /^Complete OptimizationJobCompleted: The only trial has ended: 1 complete; the best is t-0, with loss 1$/,
  },
  "of the only trial, which failed": {
    numTrials: 1,
    of: ["Failed X"],
    want: /^Failed AllTrialsFailed: The only trial failed, t-0: X: m$/,
  },
  "of refusals": {
    of: ["Failed TrainJobRefused", "Failed TrainJobRefused"],
    want: /^Failed TemplateRefused: TrainJob t-0 is refused: m\. Make the OptimizationJob anew/,
  },
  "with a refusal among trials that were made": {
    of: ["Failed TrainJobRefused", "Running"],
    want: /^undefined$/,
  },
};
for (const [sentence, { numTrials = 4, of, want }] of Object.entries(ends)) {
  Deno.test(`searchEnd() of a search ${sentence}`, () => {
    const job = optimizationJob({ spec: { numTrials } });
    const end = searchEnd(job, readSearch(job), records(...of));
    match(end === undefined ? "undefined" : `${end.type} ${end.reason}: ${end.message}`, want);
  });
}

const next: Record<string, { readonly of: string[]; readonly want: number[] }> = {
  "as many as may run": { of: [], want: [0, 1] },
  "one for each that has ended": { of: ["Complete 1", "Running"], want: [2] },
  "none where all places are taken": { of: ["Running", "Running"], want: [] },
  "no more than there are": { of: ["Complete 1", "Failed X", "Complete 1"], want: [3] },
  "none that is recorded": { of: ["-", "Running"], want: [0] },
  "none beside too many": { of: ["Running", "Running", "Running"], want: [] },
};
for (const [sentence, { of, want }] of Object.entries(next)) {
  Deno.test(`nextTrials() are ${sentence}`, () => {
    const job = optimizationJob();
    deepEqual([...nextTrials(job, readSearch(job), records(...of), NOW).keys()], want);
  });
}

Deno.test("decideSearchStatus() changes nothing of what it has written", () => {
  const job = optimizationJob();
  const search = readSearch(job);
  const decided = { findings: { waits: ["w"] }, now: NOW };
  const status = decideSearchStatus(job, search, records("Complete 1", "Running"), decided);
  const later = { findings: { waits: ["w"] }, now: "2026-01-02T00:00:00Z" };
  const again = decideSearchStatus(
    { ...job, status },
    search,
    records("Complete 1", "Running"),
    later,
  );
  deepEqual(again, status);
  match(
    status.conditions?.[1]?.message ?? "",
    /^1 of 4 trials are under way; 1 complete; 2 to come; w$/,
  );
});

Deno.test("a search without a seed has that of its UID, and one with a seed that of its spec", () => {
  const of = (uid: string, random: Record<string, number>) =>
    readSearch(optimizationJob({ uid, spec: { searchAlgorithm: { random } } })).valuesOf(3);
  deepEqual(of("a", {}), of("a", {}));
  deepEqual(of("a", { seed: 0 }), of("b", { seed: 0 }));
  equal(of("a", {})[0] === of("b", {})[0], false);
  equal(of("a", { seed: 0 })[0] === of("a", { seed: 1 })[0], false);
});

const names: Record<string, string> = {
  "digits": "digits-01234567-7",
  "a-search-with-quite-a-long-name-indeed": "a-search-with-quite-a-long-nam-01234567-7",
  "a-search-with-quite-a-long-na-me": "a-search-with-quite-a-long-na-01234567-7",
};
for (const [name, want] of Object.entries(names)) {
  Deno.test(`trialName() of ${name}`, () =>
    equal(trialName(optimizationJob({ name }).metadata, 7), want));
}

/** A TrainJob with these conditions, each as `Type Reason`. */
const trainJob = (...conditions: readonly string[]) =>
  trainJobSchema.parse({
    apiVersion: "trainer.kubeflow.org/v1alpha1",
    kind: "TrainJob",
    metadata: { name: "t" },
    spec: { runtimeRef: { name: "r" } },
    status: {
      conditions: conditions.map((it) => {
        const [type, reason] = it.split(" ");
        return { type, reason, message: "m", status: "True", lastTransitionTime: NOW };
      }),
    },
  });
const outcomes: Record<string, { readonly of: readonly string[]; readonly want: unknown }> = {
  "that runs": { of: [], want: undefined },
  "that is suspended": { of: ["Suspended S"], want: undefined },
  "whose runtime cannot be rendered now": {
    of: ["Failed TrainingRuntimeNotSupported"],
    want: undefined,
  },
  "that has failed": {
    of: ["Failed DeadlineExceeded"],
    want: { state: "Failed", reason: "TrainJobFailed", message: "DeadlineExceeded: m" },
  },
  "that was pruned, and is complete by its JobSet": {
    of: ["Complete C", "EarlyStopped Pruned"],
    want: { state: "EarlyStopped", reason: "Pruned", message: "m" },
  },
  "that is complete": { of: ["Complete C"], want: "complete" },
};
for (const [sentence, { of, want }] of Object.entries(outcomes)) {
  Deno.test(`endWithoutObjective() of a trial ${sentence}`, () => {
    const job = trainJob(...of);
    deepEqual(isComplete(job) ? "complete" : endWithoutObjective(job), want);
  });
}

const values: Record<string, string> = {
  "0.5": "Complete 0.5",
  "1_000": "Complete 1_000",
  "1e-999": "Complete 1e-999",
  ...Object.fromEntries(
    ["NaN", "inf", "-inf", "Infinity", "+Infinity", "1e999", "0x10", ""].map((it) => [
      it,
      `Failed MetricsUnavailable its last loss, the objective, is ${it}`,
    ]),
  ),
};
for (const [value, want] of Object.entries(values)) {
  Deno.test(`a trial ends with the last value ${JSON.stringify(value)} as ${want}`, () => {
    const { state, reason, message, value: kept } = endWithObjective("loss", value);
    equal([state, reason, message, kept].filter((it) => it !== undefined).join(" "), want);
  });
}

Deno.test("endWithObjective() cuts what a trial has pushed to what records hold", () => {
  const { message = "" } = endWithObjective("loss", "x".repeat(1000));
  equal(message.length, 256);
  deepEqual(endWithObjective("loss", `0.${"0".repeat(99)}1`), {
    state: "Complete",
    value: "1e-100",
  });
  deepEqual(endWithObjective("loss", "1e-3"), { state: "Complete", value: "1e-3" });
});
