/** Tests of what is said of a stop while its grace passes, and after. */
import assert from "node:assert/strict";
import { readDetails } from "../../../../page/front/job/job_details.ts";
import {
  podsWords,
  type StoppedJob,
  stoppedWords,
  stopPhase,
  whyWords,
} from "../../../../page/front/job/stop_words.ts";

const { stop } = readDetails({
  object: { status: { stop: { time: "1970-01-01T00:00:10Z", graceSeconds: 30, reason: "R" } } },
});
const pod = (phase: string) => readDetails({ pods: [{ name: phase, phase }] }).pods;
const TOLD = { isTold: true, podsEnded: 0, pods: 1 };

interface Case {
  readonly job: Partial<StoppedJob>;
  readonly atMs: number;
  readonly want: Partial<ReturnType<typeof stopPhase>>;
  readonly says?: RegExp;
}

const cases: Record<string, Case> = {
  "the grace counts down": { job: {}, atMs: 15_000, want: { phase: "grace", leftSeconds: 25 } },
  "a report before the stop tells nobody": {
    job: { reportedMs: 9_000, pods: pod("Running") },
    atMs: 15_000,
    want: { isTold: false },
    says: /told when they next report/,
  },
  "a report after it does": {
    job: { reportedMs: 12_000, pods: pod("Running") },
    atMs: 15_000,
    want: TOLD,
    says: /has been told/,
  },
  "one of two pods has ended": {
    job: { pods: [...pod("Running"), ...pod("Succeeded")] },
    atMs: 15_000,
    want: { podsEnded: 1, pods: 2 },
    says: /1 of 2 pods/,
  },
  "all have": { job: { pods: pod("Failed") }, atMs: 15_000, want: {}, says: /All pods/ },
  "the grace is over": { job: {}, atMs: 99_000, want: { phase: "late", leftSeconds: 0 } },
  "it was stopped": {
    job: {
      state: "EarlyStopped",
      conditions: readDetails({
        object: {
          status: {
            conditions: [{
              type: "EarlyStopped",
              status: "True",
              lastTransitionTime: "1970-01-01T00:00:17Z",
            }],
          },
        },
      }).conditions,
    },
    atMs: 99_000,
    want: { phase: "stopped", tookSeconds: 7 },
  },
  "nobody says when": {
    job: { state: "EarlyStopped" },
    atMs: 99_000,
    want: { phase: "stopped", tookSeconds: undefined },
  },
  "it ended by itself": {
    job: { state: "Failed" },
    atMs: 11_000,
    want: { phase: "ended", state: "Failed" },
  },
};
for (const [sentence, { job, atMs, want, says }] of Object.entries(cases)) {
  Deno.test(`stopPhase(): ${sentence}`, () => {
    assert.ok(stop !== undefined);
    const all = { stop, state: "Running", pods: [], conditions: [], reportedMs: undefined, ...job };
    const phase = stopPhase(all, atMs);
    assert.partialDeepStrictEqual(phase, want);
    if (says !== undefined) {
      assert.ok(phase.phase === "grace");
      assert.match(podsWords(phase), says);
    }
  });
}

const STOP = { reason: "Pruned", message: "", user: "", timeMs: 0, graceSeconds: 30 };
const said: readonly (readonly [text: string, want: string])[] = [
  [stoppedWords(STOP, 3), "Stopped early after 3 s of 30 s grace"],
  [stoppedWords(STOP, undefined), "Stopped early"],
  [stoppedWords({ ...STOP, graceSeconds: 0 }, 2), "Stopped immediately (no grace period)"],
  [whyWords(STOP), "Pruned."],
  [whyWords({ ...STOP, message: "worse", user: "ada" }), "Pruned: worse (requested by ada)."],
  [whyWords({ ...STOP, message: "asked for by ada", user: "ada" }), "Pruned: asked for by ada."],
  [whyWords({ ...STOP, message: "It was enough." }), "Pruned: It was enough."],
];
for (const [text, want] of said) {
  Deno.test(`a stop is told: ${want}`, () => assert.equal(text, want));
}
