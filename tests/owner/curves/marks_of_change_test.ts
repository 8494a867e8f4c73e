/** Tests of the marks of changes in the objects of jobs. */
import assert from "node:assert/strict";
import type { AnyJob, JobKind } from "../../../crds/job_kind.ts";
import { JOB_KINDS, TRAINJOB } from "../../../crds/job_kinds.ts";
import type { JobSet } from "../../../crds/jobset.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { WATCHED } from "../../../crds/watched.ts";
import {
  marksOfChange,
  marksOfPod,
  marksOfRestart,
  marksOfStart,
} from "../../../owner/curves/marks_of_change.ts";

const NOW_MS = Date.parse("2026-03-01T12:00:00Z");
const AT = "2026-03-01T11:00:00Z";
const AT_MS = Date.parse(AT);
const PYTORCHJOB = JOB_KINDS.byId("pytorchjobs.kubeflow.org") ?? TRAINJOB;

/** A condition as `Type=Status`, with `@TIME` if it is not {@link AT}. */
function condition(text: string) {
  const [, type = "", status = "", time = AT] = /^(\w+)=(\w+)(?:@(.*))?$/.exec(text) ?? [];
  return {
    type,
    status,
    reason: "Test",
    message: `${type} is ${status}`,
    lastTransitionTime: time,
  };
}

function job(conditions: readonly string[], uid = "u"): AnyJob {
  return {
    apiVersion: "v1",
    kind: "Job",
    metadata: { name: "job", uid },
    status: { conditions: conditions.map(condition) },
  };
}

const restarted = (count: number, more = {}): AnyJob => ({
  ...job([]),
  status: { restart: { count, reason: "Hangs", message: "m", time: AT, user: "ann", ...more } },
});

Deno.test("a restart is marked once, when it was decided, whether or not it was seen then", () => {
  const marks = (old: AnyJob | undefined, now: AnyJob) => marksOfChange(TRAINJOB, old, now, NOW_MS);
  const text = "restart 1: Hangs: m (asked for by ann)";
  const mark = { timeMs: AT_MS + 999, kind: "restarted", text } as const;
  assert.deepEqual(marks(job([]), restarted(1)), [mark]);
  assert.deepEqual(marks(undefined, restarted(1, { endTime: AT })), [mark]);
  assert.deepEqual(marks(restarted(1), restarted(1, { endTime: AT })), []);
  assert.equal(marks(restarted(1), restarted(2)).length, 1);
});

/** Old conditions, new ones, and the marks as `kind text`; all are within the second of {@link AT} unless it says `now`. */
const changes: Record<
  string,
  { kind?: JobKind; old?: string[] | undefined; now: string[]; want: string[] }
> = {
  "a job without conditions": { old: [], now: [], want: [] },
  "a suspension": { old: [], now: ["Suspended=True"], want: ["suspended Suspended is True"] },
  "a suspension again": {
    old: ["Suspended=False"],
    now: ["Suspended=True"],
    want: ["suspended Suspended is True"],
  },
  "a job that stays suspended": { old: ["Suspended=True"], now: ["Suspended=True"], want: [] },
  "a resumption": {
    old: ["Suspended=True"],
    now: ["Suspended=False"],
    want: ["resumed Suspended is False"],
  },
  "a resumption that removes the condition": {
    old: ["Suspended=True"],
    now: [],
    want: ["resumed  now"],
  },
  "a condition without a valid time": {
    old: [],
    now: ["Suspended=True@yesterday"],
    want: ["suspended Suspended is True now"],
  },
  "an early stop": {
    old: [],
    now: ["EarlyStopped=True", "Complete=True"],
    want: ["stopped EarlyStopped is True"],
  },
  "a stop of a suspended job": {
    old: ["Suspended=True"],
    now: ["Suspended=False", "EarlyStopped=True"],
    want: ["resumed Suspended is False", "stopped EarlyStopped is True"],
  },
  "a job that is seen for the first time": {
    now: ["Suspended=True", "EarlyStopped=True"],
    want: ["suspended Suspended is True", "stopped EarlyStopped is True"],
  },
  "a running job that is seen for the first time": { now: ["Suspended=False"], want: [] },
  "a v1 job that restarts": {
    kind: PYTORCHJOB,
    old: ["Running=True"],
    now: ["Restarting=True"],
    want: ["restarted Restarting is True"],
  },
  "a v1 job that is restarting still": {
    kind: PYTORCHJOB,
    old: ["Restarting=True"],
    now: ["Restarting=True"],
    want: [],
  },
  "a v1 job that has restarted": {
    kind: PYTORCHJOB,
    old: ["Restarting=True"],
    now: ["Restarting=False", "Running=True"],
    want: [],
  },
  "a TrainJob with a condition of v1 jobs": { old: [], now: ["Restarting=True"], want: [] },
};
for (const [sentence, { kind = TRAINJOB, old, now, want }] of Object.entries(changes)) {
  Deno.test(`marksOfChange() of ${sentence}`, () => {
    const marks = marksOfChange(kind, old && job(old), job(now), NOW_MS);
    const got = marks.map(({ kind, text, timeMs }) => {
      assert.ok(timeMs === NOW_MS || timeMs === AT_MS + 999);
      return `${kind} ${text}${timeMs === NOW_MS ? " now" : ""}`;
    });
    assert.deepEqual(got, want);
  });
}

Deno.test("the table has a v1 kind", () => assert.notEqual(PYTORCHJOB, TRAINJOB));

Deno.test("marksOfChange() does not compare with another job of the same name", () => {
  const [old, now] = [job(["Suspended=True"], "old"), job(["Suspended=True"], "new")];
  assert.equal(marksOfChange(TRAINJOB, old, now, NOW_MS).length, 1);
  assert.deepEqual(marksOfChange(TRAINJOB, old, job([], "new"), NOW_MS), []);
});

Deno.test("what is seen as it happens is marked to the millisecond, later at the end of the second that is known", () => {
  for (const [sinceMs, want] of [[0, 0], [250, 250], [999, 999], [5_000, 999]] as const) {
    const [mark] = marksOfChange(TRAINJOB, job([]), job(["EarlyStopped=True"]), AT_MS + sinceMs);
    assert.equal(mark?.timeMs, AT_MS + want);
  }
});

function jobSet(
  { restarts, jobs = [], condition: text, uid = "u" }: {
    restarts?: number;
    jobs?: number[];
    condition?: string;
    uid?: string;
  },
): Pick<JobSet, "metadata" | "status"> {
  const counters = { ready: 0, succeeded: 0, failed: 0, active: 0, suspended: 0 };
  return {
    metadata: { name: "job", uid },
    status: {
      restarts,
      conditions: text === undefined ? [] : [condition(text)],
      replicatedJobsStatus: [{ name: "node", ...counters, jobRestarts: jobs }],
    },
  };
}

const LATER = "2026-03-01T11:30:00Z";
const restarts: Record<
  string,
  { old?: Parameters<typeof jobSet>[0]; now: Parameters<typeof jobSet>[0]; want: string[] }
> = {
  "its first one": {
    old: {},
    now: { restarts: 1, condition: "RestartingJobSet=True" },
    want: ["2026-03-01T11:00:00.999Z RestartingJobSet is True"],
  },
  "a second one": {
    old: { restarts: 1, condition: "RestartingJobSet=False" },
    now: { restarts: 2, condition: `RestartingJobSet=True@${LATER}` },
    want: ["2026-03-01T11:30:00.999Z RestartingJobSet is True"],
  },
  "a second one during the first": {
    old: { restarts: 1, condition: "RestartingJobSet=True" },
    now: { restarts: 2, condition: "RestartingJobSet=True" },
    want: ["2026-03-01T12:00:00.000Z "],
  },
  "one of a single Job": {
    old: { jobs: [0, 1] },
    now: { jobs: [1, 1] },
    want: ["2026-03-01T12:00:00.000Z "],
  },
  "none": {
    old: { restarts: 1 },
    now: { restarts: 1, condition: "RestartingJobSet=True" },
    want: [],
  },
  "a JobSet that is seen for the first time": { now: { restarts: 3 }, want: [] },
  "another JobSet of the name": { old: { uid: "old" }, now: { restarts: 1 }, want: [] },
};
for (const [sentence, { old, now, want }] of Object.entries(restarts)) {
  Deno.test(`marksOfRestart() of ${sentence}`, () => {
    const marks = marksOfRestart(old && jobSet(old), jobSet(now), NOW_MS);
    assert.deepEqual(
      marks.map(({ timeMs, text }) => `${new Date(timeMs).toISOString()} ${text}`),
      want,
    );
    assert.ok(marks.every(({ kind }) => kind === "restarted"));
  });
}

/** A pod whose container was started again so often. */
const podOf = (restarts: number | undefined, uid = "p1") => ({
  metadata: { name: "job-node-0-0-abcde", uid },
  status: {
    phase: "Running",
    containerStatuses: restarts === undefined ? [] : [{
      name: "node",
      image: "i",
      imageID: "i",
      ready: true,
      restartCount: restarts,
      state: { running: { startedAt: AT } },
      ...(restarts > 0 && {
        lastState: { terminated: { exitCode: 1, message: "secret", finishedAt: AT } },
      }),
    }],
  },
});
const podCases: Record<
  string,
  { old: number | undefined; now: number; uid?: string; want: number }
> = {
  "whose container runs": { old: undefined, now: 0, want: 0 },
  "whose container was started again": { old: 0, now: 1, want: 1 },
  "whose container was started again once more": { old: 1, now: 2, want: 1 },
  "that changes otherwise": { old: 1, now: 1, want: 0 },
  "that is another of its name": { old: 0, now: 1, uid: "p2", want: 0 },
};
for (const [sentence, { old, now, uid, want }] of Object.entries(podCases)) {
  for (const { parse } of [WATCHED.pod, KINDS.pod]) {
    Deno.test(`marksOfPod() of a pod ${sentence}, ${parse === KINDS.pod.parse ? "kept whole" : "kept in part"}`, () => {
      const marks = marksOfPod(parse(podOf(old)), parse(podOf(now, uid)), NOW_MS);
      const text = "job-node-0-0-abcde exited 1";
      assert.deepEqual(
        marks,
        want === 0 ? [] : [{ timeMs: NOW_MS, kind: "restarted", text }],
      );
    });
  }
}

Deno.test("marksOfPod() of a pod that is seen for the first time", () => {
  assert.deepEqual(marksOfPod(undefined, WATCHED.pod.parse(podOf(3)), NOW_MS), []);
});

const unseen: Record<string, { restarts: number; newestMs: number; want: number }> = {
  "started again after the newest sample": { restarts: 1, newestMs: -1, want: 1 },
  "started again before the newest sample": { restarts: 1, newestMs: 1, want: 0 },
  "never started again": { restarts: 0, newestMs: -1, want: 0 },
  "started again, of a job without a sample": { restarts: 1, newestMs: NaN, want: 0 },
};
for (const [sentence, { restarts, newestMs, want }] of Object.entries(unseen)) {
  Deno.test(`marksOfStart() of a container ${sentence}`, () => {
    const pod = WATCHED.pod.parse(podOf(restarts));
    const mark = {
      timeMs: Date.parse(AT),
      kind: "restarted",
      text: "job-node-0-0-abcde exited 1",
    };
    assert.deepEqual(
      marksOfStart(pod, Date.parse(AT) + newestMs),
      want === 0 ? [] : [mark],
    );
  });
}
