/** Tests of the state of a pod's containers in words. */
import { equal } from "node:assert/strict";
import { stateOfPod } from "../../crds/state_of_pod.ts";
import { WATCHED } from "../../crds/watched.ts";

const running = { state: { running: { startedAt: "2026-01-01T00:00:05Z" } } };
const ended = (exitCode: number, reason: string) => ({
  terminated: { exitCode, reason, finishedAt: "2026-01-01T00:00:03Z" },
});
const READY = (status: string) => [{ type: "Ready", status }];

const STATES: Readonly<Record<string, readonly [status: object | undefined, want?: string]>> = {
  "one that runs": [
    { phase: "Running", containerStatuses: [running], conditions: READY("True") },
    "Running",
  ],
  "one that runs on a node that is lost": [
    { phase: "Running", containerStatuses: [running], conditions: READY("False") },
    "Running, not ready",
  ],
  "one that waits": [{ phase: "Pending", conditions: READY("False") }, "Pending"],
  "one that was killed": [
    { phase: "Failed", containerStatuses: [{ state: ended(137, "Error") }] },
    "Terminated: exit code 137",
  ],
  "one that waits to be started again": [
    {
      phase: "Running",
      containerStatuses: [{
        state: { waiting: { reason: "CrashLoopBackOff" } },
        lastState: ended(137, "OOMKilled"),
      }],
    },
    "Terminated: OOMKilled, exit code 137",
  ],
  "one that was started again": [
    { phase: "Running", containerStatuses: [{ ...running, lastState: ended(1, "Error") }] },
    "Running",
  ],
  "one that was evicted": [{ phase: "Failed", reason: "Evicted" }, "Terminated: Evicted"],
  "one of which nothing is known": [undefined],
};
for (const [which, [status, want]] of Object.entries(STATES)) {
  Deno.test(`the state of a pod: ${which}`, () => {
    const statuses = Object.entries(status ?? {}).map(([name, value]) => [
      name,
      name !== "containerStatuses" ? value : value.map((it: object) => ({
        name: "node",
        image: "i",
        imageID: "",
        ready: true,
        restartCount: 0,
        ...it,
      })),
    ]);
    const pod = WATCHED.pod.parse({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "p" },
      status: Object.fromEntries(statuses),
    });
    equal(stateOfPod(pod), want);
  });
}

Deno.test("the state of a pod that is deleted, and of none", () => {
  const metadata = { name: "p", deletionTimestamp: "2026-01-01T00:00:03Z" };
  equal(stateOfPod({ metadata, status: { phase: "Running" } }), "Terminating");
  equal(stateOfPod(undefined), undefined);
});
