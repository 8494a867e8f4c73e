/** Tests of following TrainJobs: the end of a job is shown with its last progress. */
import assert from "node:assert/strict";
import { followJobs } from "../../../app/demo/followed_jobs.ts";
import type { TrainJob } from "../../../crds/trainjob.ts";
import type { JobRow } from "../../../crds/wire/row.ts";
import { FakeClock } from "../../support/fake_clock.ts";

function trainJob(name: string, state: string, progressPercentage?: number): TrainJob {
  const trainerStatus = progressPercentage === undefined
    ? undefined
    : { progressPercentage, lastUpdatedTime: "2026-01-01T00:00:00Z" };
  return {
    apiVersion: "trainer.kubeflow.org/v1alpha1",
    kind: "TrainJob",
    metadata: { name },
    spec: { runtimeRef: { name: "digits" } },
    status: { state, ...trainerStatus === undefined ? {} : { trainerStatus } },
  } as TrainJob;
}

function world() {
  const lines: string[] = [];
  const clock = new FakeClock();
  const over = new AbortController();
  const display = {
    changed: ({ name, state, progress = NaN }: JobRow) =>
      void lines.push(`${name} ${state} ${progress}`),
  };
  const followed = followJobs({ display, clock, signal: over.signal });
  return { lines, clock, followed, over };
}

Deno.test("followJobs() shows no end with less progress than was reported", async () => {
  const { lines, followed } = world();
  followed.take(trainJob("a", "Running", 82));
  followed.take(trainJob("a", "Complete", 82));
  const settled = followed.settled();
  followed.take(trainJob("a", "Complete", 100));
  await settled;
  assert.deepEqual(lines, ["a Running 82", "a Complete 100"]);
});

const ends: Record<string, { state: string; progress?: number; late?: number; want: string }> = {
  "Complete without a report": { state: "Complete", want: "a Complete NaN" },
  "Complete below 100 %": { state: "Complete", progress: 82, want: "a Complete 82" },
  "Failed": { state: "Failed", progress: 30, late: 40, want: "a Failed 40" },
  "EarlyStopped": { state: "EarlyStopped", progress: 10, late: 20, want: "a EarlyStopped 20" },
};

for (const [sentence, { state, progress, late, want }] of Object.entries(ends)) {
  Deno.test(`followJobs() shows a job that is ${sentence} when its last progress has been waited for`, async () => {
    const { lines, clock, followed } = world();
    followed.take(trainJob("a", state, progress));
    assert.deepEqual(lines, []);
    if (late !== undefined) followed.take(trainJob("a", state, late));
    assert.deepEqual(lines, []);
    const settled = followed.settled();
    await clock.advance(3_000);
    await settled;
    assert.deepEqual(lines, [want]);
  });
}

Deno.test("followJobs() shows at once the end of a failed job that has reported nothing", () => {
  const { lines, followed } = world();
  followed.take(trainJob("a", "Failed"));
  assert.deepEqual(lines, ["a Failed NaN"]);
});

Deno.test("followJobs() shows nothing more once it is stopped", async () => {
  const { lines, followed, over } = world();
  followed.take(trainJob("a", "Complete", 82));
  over.abort();
  await followed.settled();
  assert.deepEqual(lines, []);
});

Deno.test("followJobs() shows jobs in the order that it was given", () => {
  const shown: string[][] = [];
  const followed = followJobs({
    display: { changed: (_, all) => void shown.push(all.map(({ name }) => name)) },
    clock: new FakeClock(),
    order: ["b", "a"],
    signal: new AbortController().signal,
  });
  for (const name of ["a", "b", "c"]) followed.take(trainJob(name, "Running", 1));
  assert.deepEqual(shown, [["a"], ["b", "a"], ["b", "a", "c"]]);
  assert.deepEqual(followed.all().map(({ job }) => job.metadata.name), ["b", "a", "c"]);
});
