/** Tests of what rows and lines tell of jobs that fail or wait. */
import { equal, match } from "node:assert/strict";
import { jobRows } from "../../terminal/job_rows.ts";
import { plainLine, plainStep } from "../../terminal/plain_lines.ts";

const row = {
  ...{ uid: "u", kind: "trainjobs.trainer.kubeflow.org", namespace: "ml", name: "digits" },
  ...{ created: "2026-01-01T00:00:00Z", metrics: [{ name: "loss", value: "1" }] },
  message: "node-0 exited 1: \x1b[2JValueError: b",
} as const;
const TOLD = "node-0 exited 1: \\u001b[2JValueError: b";
const look = { characters: "unicode", colours: false, columns: 120, namespaced: false, nowMs: 0 };

const CASES = [
  [{ ...row, state: "Failed" }, TOLD, `loss 1  ${TOLD}`],
  [
    { ...row, state: "Running", restarts: 4 },
    `restarting (4×): ${TOLD}`,
    `restarting (4×)  loss 1  ${TOLD}`,
  ],
  [
    { ...row, state: "Running", restarts: 4, restartLimit: 6 },
    `restarting (4×, fails after at most 6): ${TOLD}`,
    `restarting (4×, fails after at most 6)  loss 1  ${TOLD}`,
  ],
  [
    { ...row, state: "Running", message: undefined, stopsBy: "1970-01-01T00:00:18Z" },
    "stopping, 18s left",
    "stopping, 18s left  loss 1",
  ],
  [
    { ...row, state: "Running", stalledSince: "1969-12-31T23:59:00Z" },
    `stalled for 60s: ${TOLD}`,
    `stalled for 60s  loss 1  ${TOLD}`,
  ],
  [
    { ...row, state: "Running", restartingSince: "1969-12-31T23:59:00Z" },
    `restarting for 60s: ${TOLD}`,
    `restarting for 60s  loss 1  ${TOLD}`,
  ],
  [{ ...row, state: "Running" }, "loss 1", "loss 1"],
  [{ ...row, state: "EarlyStopped" }, "loss 1", "loss 1"],
  [
    { ...row, metrics: [], state: "Created", message: "waits for 1 \x1b[2Jgpu" },
    "waits for 1 \\u001b[2Jgpu",
    "waits for 1 \\u001b[2Jgpu",
  ],
] as const;
for (const [job, told, plain] of CASES) {
  Deno.test(`a job that is ${job.state} tells ${told}`, () => {
    const { lines } = jobRows([job], { ...look, characters: "unicode" });
    match(lines[0] ?? "", /^digits /);
    equal(lines[0]?.includes(told), true);
    equal(plainLine(job, 0), `ml/digits  ${job.state}  ${plain}`);
  });
}

Deno.test("a failure has a column where no job has metrics, and a step of its own", () => {
  const { metrics: _, ...bare } = row;
  const { lines } = jobRows([{ ...bare, state: "Failed" }], { ...look, characters: "unicode" });
  equal(lines[0]?.includes(TOLD), true);
  const running = { ...bare, state: "Running" } as const;
  equal(plainStep(running) === plainStep({ ...running, restarts: 2 }), false);
  equal(
    plainStep(running) === plainStep({ ...running, stalledSince: "2026-01-01T00:00:00Z" }),
    false,
  );
  equal(plainStep(running) === plainStep({ ...running, stopsBy: "2026-01-01T00:00:00Z" }), false);
});
