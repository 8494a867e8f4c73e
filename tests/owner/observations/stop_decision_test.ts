/** Tests of decisions to stop a job: which one holds, how long its grace is, and when there is nothing to stop. */
import assert from "node:assert/strict";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { jobStopSchema } from "../../../crds/trainjob.ts";
import {
  controlOf,
  controlShown,
  decidedByRules,
  type DecidedStop,
  decisionOf,
  graceLeftMs,
  type StopDecision,
  storedForm,
  storeStep,
} from "../../../owner/observations/stop_decision.ts";
import { jobOf, trial } from "../../katib/trials/builders.ts";

const NOW = Date.parse("2026-01-01T00:10:00Z");
const at = (second: number) => new Date(NOW + second * 1000).toISOString();

/** A decision that somebody makes now. */
function asked(graceSeconds: number, more: Partial<StopDecision> = {}): StopDecision {
  const graceMs = graceSeconds * 1000;
  const said = { reason: "Pruned", message: "worse than the median", user: "tuner" };
  return { ...said, time: at(0), receivedMs: NOW, graceMs, ...more };
}
const BY_RULES: StopDecision = {
  reason: "RulesMet",
  message: "loss 0.9 is greater than 0.5, at report 3",
  time: at(-5),
  receivedMs: NOW - 5000,
  graceMs: 60_000,
};
const ASKED_STOP = {
  reason: "Pruned",
  message: "worse than the median",
  time: at(0),
  user: "tuner",
  graceSeconds: 30,
};
const EARLIER = {
  reason: "First",
  message: "m",
  time: at(-100),
  user: "another",
  graceSeconds: 300,
};

const JOB = jobOf(trial());
const REF = { kind: TRAINJOB, namespace: "ml", name: "t1", uid: "uid-of-job-t1" };
const UID = "uid-of-t1";

type Job = typeof JOB;
const withStatus = (status: Job["status"]): Job => ({ ...JOB, status });
function ended(...types: readonly (readonly [type: string, reason: string])[]): Job {
  const lastTransitionTime = "2026-01-01T00:00:00Z";
  const conditions = types.map(([type, reason]) => ({
    type,
    status: "True" as const,
    reason,
    message: "m",
    lastTransitionTime,
  }));
  return withStatus({ conditions });
}

const stored: Readonly<
  Record<string, { job?: Job; wish?: Partial<DecidedStop>; want: Record<string, unknown> }>
> = {
  "of a job without one it is stored": { want: ASKED_STOP },
  "with the grace of 0": { wish: { decision: asked(0) }, want: { ...ASKED_STOP, graceSeconds: 0 } },
  "what the rules decided before is stored instead, and keeps its grace where that ends earlier": {
    wish: { byRules: BY_RULES, decision: asked(3600) },
    want: { reason: "RulesMet", message: BY_RULES.message, time: at(-5), graceSeconds: 60 },
  },
  "what the rules decided before is stored instead, with a shorter grace": {
    wish: { byRules: BY_RULES, decision: asked(10) },
    want: { reason: "RulesMet", message: BY_RULES.message, time: at(-5), graceSeconds: 15 },
  },
  "the first decision keeps its words, and a shorter grace shortens it": {
    job: withStatus({ stop: EARLIER }),
    want: { ...EARLIER, graceSeconds: 130 },
  },
  "a grace of 0 ends that of the first decision now": {
    job: withStatus({ stop: EARLIER }),
    wish: { decision: asked(0) },
    want: { ...EARLIER, graceSeconds: 100 },
  },
};
for (const [what, { job = JOB, wish, want }] of Object.entries(stored)) {
  Deno.test(`a decision: ${what}`, () => {
    const step = storeStep(job, { job: REF, decision: asked(30), trialUid: UID, ...wish }, NOW);
    assert.deepEqual(step, {
      kind: "patch",
      body: {
        metadata: { uid: REF.uid, resourceVersion: JOB.metadata.resourceVersion },
        status: { stop: want },
      },
    });
    jobStopSchema.parse(want);
  });
}

const OTHERS: Readonly<Record<string, { job?: Job; wish?: Partial<DecidedStop>; want: unknown }>> =
  {
    "the same again, later": {
      job: withStatus({ stop: { ...ASKED_STOP, time: at(-20) } }),
      want: { kind: "stored", stop: { ...ASKED_STOP, time: at(-20) } },
    },
    "a longer grace": {
      job: withStatus({ stop: EARLIER }),
      wish: { decision: asked(201) },
      want: { kind: "stored", stop: EARLIER },
    },
    "after the end of the first one's grace": {
      job: withStatus({ stop: { ...EARLIER, graceSeconds: 10 } }),
      wish: { decision: asked(0) },
      want: { kind: "stored", stop: { ...EARLIER, graceSeconds: 10 } },
    },
    "the job was stopped by a request": {
      job: {
        ...ended(["EarlyStopped", "First"], ["Complete", "EarlyStopped"]),
        status: {
          ...ended(["EarlyStopped", "First"], ["Complete", "EarlyStopped"]).status,
          stop: EARLIER,
        },
      },
      want: { kind: "stopped", stop: EARLIER },
    },
    "the job was stopped by its rules, by a manager that stored no decision": {
      job: ended(["EarlyStopped", "RulesMet"], ["Complete", "EarlyStopped"]),
      want: {
        kind: "stopped",
        stop: { reason: "RulesMet", message: "m", time: "2026-01-01T00:00:00Z" },
      },
    },
    "the job is complete": {
      job: ended(["Complete", "AllJobsCompleted"]),
      want: { kind: "ended" },
    },
    "the job has failed": { job: ended(["Failed", "FailedJobs"]), want: { kind: "ended" } },
    "the job has failed after a decision": {
      job: { ...JOB, status: { ...ended(["Failed", "FailedJobs"]).status, stop: EARLIER } },
      want: { kind: "ended" },
    },
    "the job is another one of that name": {
      wish: { job: { ...REF, uid: "uid-of-another" } },
      want: { kind: "gone" },
    },
    "the job is being deleted": {
      job: { ...JOB, metadata: { ...JOB.metadata, deletionTimestamp: at(-1) } },
      want: { kind: "gone" },
    },
    "MultiKueue runs the job in another cluster": {
      job: { ...JOB, spec: { ...JOB.spec, managedBy: "kueue.x-k8s.io/multikueue" } },
      want: { kind: "elsewhere", controller: "kueue.x-k8s.io/multikueue" },
    },
    "another Trial controls the job than the one for which rights were checked": {
      wish: { trialUid: "uid-of-another" },
      want: { kind: "changed" },
    },
    "a Trial controls the job, and none was checked": {
      wish: { trialUid: null },
      want: { kind: "changed" },
    },
  };
for (const [what, { job = JOB, wish, want }] of Object.entries(OTHERS)) {
  Deno.test(`a decision changes nothing where ${what}`, () => {
    const step = storeStep(job, { job: REF, decision: asked(30), trialUid: UID, ...wish }, NOW);
    assert.deepEqual(step, want);
  });
}

Deno.test("a decision changes nothing where the job is gone", () => {
  const wish = { job: REF, decision: asked(30), trialUid: UID };
  assert.deepEqual(storeStep(undefined, wish, NOW), { kind: "gone" });
});

Deno.test("a job whose runtime is not supported has not ended, and one that is suspended is stopped", () => {
  const wish = { job: REF, decision: asked(30), trialUid: UID };
  const waits = ended(["Failed", "TrainingRuntimeNotSupported"]);
  assert.equal(storeStep(waits, wish, NOW).kind, "patch");
  assert.equal(storeStep(ended(["Suspended", "Suspended"]), wish, NOW).kind, "patch");
});

const graces: Readonly<Record<string, [Partial<StopDecision>, seconds: number]>> = {
  "from its arrival": [{ receivedMs: NOW - 5000, time: at(-1000) }, 25],
  "from its time where it was read": [{ receivedMs: undefined, time: at(-10) }, 20],
  "never more than the whole": [{ receivedMs: undefined, time: at(1000) }, 30],
  "nothing where that is long ago": [{ receivedMs: undefined, time: at(-1000) }, 0],
  "the whole where the time is none": [{ receivedMs: undefined, time: "soon" }, 30],
};
for (const [what, [more, seconds]] of Object.entries(graces)) {
  Deno.test(`what is left of the grace: ${what}`, () => {
    const decision = asked(30, more);
    assert.equal(graceLeftMs(decision, NOW), seconds * 1000);
    // What is stored ends at the same moment, for whoever reads it.
    const { receivedMs, ...read } = {
      receivedMs: undefined,
      ...decisionOf(storedForm(decision, NOW)),
    };
    assert.equal(graceLeftMs({ ...read, receivedMs }, NOW), seconds * 1000);
  });
}

Deno.test("a grace of parts of a second is stored as the next whole one", () => {
  assert.equal(storedForm(asked(1.5), NOW).graceSeconds, 2);
});

Deno.test("rules decide with the reason of their kind, and pods are told who decided what", () => {
  const verdict = {
    metric: "loss",
    time: at(-5),
    message: "loss 0.9 is greater than 0.5, at report 3",
  };
  const byRules = decidedByRules(TRAINJOB, verdict, 1000);
  assert.equal(byRules.reason, "RulesMet");
  assert.deepEqual(controlOf(byRules), {
    stop: true,
    reason: "EarlyStopped",
    message: "stopped early: loss 0.9 is greater than 0.5, at report 3",
  });
  const told = "stopped early: Pruned: worse than the median";
  assert.equal(controlOf(asked(30)).message, told);
});

const shown: Readonly<Record<string, { job: Job; want: string | undefined }>> = {
  "of a job that goes on there is none": { job: JOB, want: undefined },
  "of a job that has completed there is none": {
    job: ended(["Complete", "JobsCompleted"]),
    want: undefined,
  },
  "a stored decision is one": {
    job: withStatus({ stop: ASKED_STOP }),
    want: "stopped early: Pruned: worse than the median",
  },
  "a condition without a decision is one": {
    job: ended(["EarlyStopped", "RulesMet"]),
    want: "m",
  },
};

for (const [sentence, { job, want }] of Object.entries(shown)) {
  Deno.test(`\`controlShown()\` ${sentence}`, () => {
    assert.deepEqual(
      controlShown(TRAINJOB, job),
      want && { stop: true, reason: "EarlyStopped", message: want },
    );
  });
}
