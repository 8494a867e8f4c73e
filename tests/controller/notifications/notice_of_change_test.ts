/** Tests of what of a job's change is told, and by which id. */
import assert from "node:assert/strict";
import type { AnyJob } from "../../../crds/job_kind.ts";
import { V1_KIND_LIST } from "../../../crds/v1/kinds.ts";
import { JOB_KINDS, TRAINJOB } from "../../../crds/job_kinds.ts";
import { noticeOfChange } from "../../../controller/notifications/notice_of_change.ts";
import { failedJob, isTrue, job, T0 } from "./builders.ts";

const LATER = "2026-01-01T00:05:00Z";
const running = job({ state: "Running" });
const stalled = job({ state: "Running", stalled: { since: T0, message: "no step after 8" } });
const stopped = job({
  conditions: [isTrue("Complete"), isTrue("EarlyStopped", "loss > 10", LATER)],
});
const RESTART = { count: 2, reason: "Hangs", message: "no step", user: "ann", time: LATER };
const restarted = job({ state: "Running", restart: RESTART });
const stalledAgain = { since: "2026-01-01T00:09:00Z", message: "no step after 9" };
const again = (status: AnyJob["status"]) => ({ ...job(status) });

interface Case {
  readonly before: AnyJob | undefined;
  readonly job: AnyJob;
  /** The id without the job's UID, the state, and the text. */
  readonly want: readonly [string, string, string | undefined] | undefined;
}
const cases: Record<string, Case> = {
  "a job that begins": { before: job(), job: running, want: undefined },
  "a job that fails": {
    before: running,
    job: failedJob(),
    want: [`Failed-${T0}`, "Failed", "it broke"],
  },
  "a failure, by its headline": {
    before: running,
    job: job({
      conditions: [isTrue("Failed", "jobset failed")],
      failure: { time: T0, headline: "node-0 exited 1" },
    }),
    want: [`Failed-${T0}`, "Failed", "node-0 exited 1"],
  },
  "a failed job that changes otherwise": {
    before: failedJob(),
    job: again({ ...failedJob().status, trainerStatus: {} }),
    want: undefined,
  },
  "a job that completes": {
    before: running,
    job: job({ conditions: [isTrue("Complete", "done")] }),
    want: [`Complete-${T0}`, "Complete", undefined],
  },
  "a job that is stopped early, and not that it is complete": {
    before: running,
    job: stopped,
    want: [`EarlyStopped-${LATER}`, "EarlyStopped", "loss > 10"],
  },
  "a stall": {
    before: running,
    job: stalled,
    want: [`Stalled-${T0}`, "Running", "no step after 8"],
  },
  "a stall of which more is known": {
    before: stalled,
    job: again({ ...stalled.status, stalled: { since: T0, message: "node-0 is silent" } }),
    want: undefined,
  },
  "the end of a stall": {
    before: stalled,
    job: running,
    want: [`ProgressResumed-${T0}`, "Running", undefined],
  },
  "a stalled job that is suspended": {
    before: stalled,
    job: job({ conditions: [isTrue("Suspended")] }),
    want: undefined,
  },
  "a stalled job that fails": {
    before: stalled,
    job: failedJob(),
    want: [`Failed-${T0}`, "Failed", "it broke"],
  },
  "a restart of a stalled job, and not that it goes on": {
    before: stalled,
    job: restarted,
    want: [`Restarted-${LATER}`, "Running", "restart 2: Hangs: no step (asked for by ann)"],
  },
  "a restart that is stored before the stall is taken away": {
    before: stalled,
    job: job({ ...stalled.status, restart: RESTART }),
    want: [`Restarted-${LATER}`, "Running", "restart 2: Hangs: no step (asked for by ann)"],
  },
  "a restart that is over": {
    before: restarted,
    job: job({ state: "Running", restart: { ...RESTART, endTime: LATER } }),
    want: undefined,
  },
  "a stall after a restart": {
    before: restarted,
    job: job({ ...restarted.status, stalled: stalledAgain }),
    want: ["Stalled-2026-01-01T00:09:00Z", "Running", "no step after 9"],
  },
  "the end of a stall after a restart": {
    before: job({
      state: "Running",
      restart: { ...RESTART, endTime: LATER },
      stalled: stalledAgain,
    }),
    job: job({ state: "Running", restart: { ...RESTART, endTime: LATER } }),
    want: ["ProgressResumed-2026-01-01T00:09:00Z", "Running", undefined],
  },
  "the end of a job that was restarted": {
    before: restarted,
    job: job({ ...restarted.status, conditions: [isTrue("Complete", "done")] }),
    want: [`Complete-${T0}`, "Complete", undefined],
  },
  "the end of which was known, of a job that was restarted": {
    before: job({ ...restarted.status, conditions: [isTrue("Complete", "done")] }),
    job: again({
      ...restarted.status,
      conditions: [isTrue("Complete", "done")],
      trainerStatus: {},
    }),
    want: undefined,
  },
  "a restart that is new to this leader": {
    before: undefined,
    job: restarted,
    want: [`Restarted-${LATER}`, "Running", "restart 2: Hangs: no step (asked for by ann)"],
  },
  "a restart of long ago": {
    before: undefined,
    job: job({ state: "Running", restart: { ...RESTART, time: "2025-12-31T23:00:00Z" } }),
    want: undefined,
  },
  "an end that is new to this leader": {
    before: undefined,
    job: failedJob(),
    want: [`Failed-${T0}`, "Failed", "it broke"],
  },
  "a stall that was noticed lately": {
    before: undefined,
    job: job({ stalled: { since: "2025-12-31T23:00:00Z", time: T0, message: "no step" } }),
    want: ["Stalled-2025-12-31T23:00:00Z", "Created", "no step"],
  },
  "a stall that was noticed long ago": {
    before: undefined,
    job: job({ stalled: { since: "2025-12-31T23:00:00Z", message: "no step" } }),
    want: undefined,
  },
  "an end of long ago": {
    before: undefined,
    job: failedJob("bert", "team-a", "2025-12-31T23:49:59Z"),
    want: undefined,
  },
  "an end whose time is none, of a job that was seen to run": {
    before: running,
    job: failedJob("bert", "team-a", "soon\r\nX: y"),
    want: ["Failed-1970-01-01T00:00:00Z", "Failed", "it broke"],
  },
};
for (const [sentence, { before, job, want }] of Object.entries(cases)) {
  Deno.test(`noticeOfChange(): ${sentence} is ${want === undefined ? "not " : ""}told`, () => {
    const afterMs = Date.parse("2025-12-31T23:50:00Z");
    const got = noticeOfChange(TRAINJOB, { before, job, afterMs });
    assert.deepEqual(
      got && [got.id.replace("uid-bert-", ""), got.state, got.text],
      want,
    );
  });
}

Deno.test("noticeOfChange() tells the end of jobs of the Training Operator's kinds", () => {
  assert.ok(V1_KIND_LIST.length > 0);
  for (const kind of JOB_KINDS.all.filter(({ group }) => group === "kubeflow.org")) {
    const object = job({ conditions: [isTrue("Succeeded", "done")] });
    const got = noticeOfChange(kind, { before: running, job: object, afterMs: 0 });
    assert.equal(got?.event, "Complete", kind.kind);
  }
});
