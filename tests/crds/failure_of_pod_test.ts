/** Tests of the words about the failure of a pod. */
import assert from "node:assert/strict";
import { KINDS } from "../../crds/kinds.ts";
import { podFailure } from "../../crds/failure_of_pod.ts";
import { WATCHED } from "../../crds/watched.ts";

const AT = "2026-01-01T00:00:10Z";
const LATER = "2026-01-01T00:00:20Z";
const DELETED = { metadata: { name: "p", deletionTimestamp: LATER } };

const ended = (exitCode: number, reason: string, more: object = {}) => ({
  terminated: { exitCode, reason, finishedAt: AT, ...more },
});
const withContainers = (...containerStatuses: object[]) => ({
  status: { phase: "Running", containerStatuses },
});
const evicted = {
  phase: "Failed",
  reason: "Evicted",
  message: "The node was low on resource: memory.",
  containerStatuses: [{ name: "node", state: ended(137, "Error") }],
};
const disrupted = (phase: string, reason: string, message: string) => ({
  phase,
  conditions: [{
    type: "DisruptionTarget",
    status: "True",
    reason,
    message,
    lastTransitionTime: AT,
  }],
  containerStatuses: [{ name: "node", state: ended(143, "Error") }],
});

const CASES: Record<string, [pod: object, want: string | undefined]> = {
  "nothing of a pod that runs": [
    withContainers({ name: "node", state: { running: {} } }),
    undefined,
  ],
  "nothing of a pod without a status": [{}, undefined],
  "nothing of a pod that has succeeded after a restart": [
    {
      status: {
        phase: "Succeeded",
        containerStatuses: [{ name: "node", lastState: ended(1, "Error") }],
      },
    },
    undefined,
  ],
  "a container out of memory": [
    withContainers({ name: "node", state: ended(137, "OOMKilled") }),
    'failed: container "node" ended with exit code 137 (OOMKilled)',
  ],
  "an error and its last words": [
    withContainers({ name: "node", state: ended(1, "Error", { message: "Traceback\n  boom\n" }) }),
    'failed: container "node" ended with exit code 1 (Error): Traceback boom',
  ],
  "a container that was started again": [
    withContainers({
      name: "node",
      state: { waiting: { reason: "CrashLoopBackOff" } },
      lastState: ended(2, "Error"),
    }),
    'failed: container "node" ended with exit code 2 (Error)',
  ],
  "the container that ended first": [
    withContainers(
      { name: "late", state: ended(1, "Error", { finishedAt: LATER }) },
      { name: "early", state: ended(137, "OOMKilled") },
      { name: "good", state: ended(0, "Completed", { finishedAt: "2025-01-01T00:00:00Z" }) },
    ),
    'failed: container "early" ended with exit code 137 (OOMKilled)',
  ],
  "an init container": [
    {
      status: {
        phase: "Pending",
        initContainerStatuses: [{ name: "i", state: ended(3, "Error") }],
      },
    },
    'failed: container "i" ended with exit code 3 (Error)',
  ],
  "no sidecar, which is ended by force": [
    {
      spec: { initContainers: [{ name: "s", restartPolicy: "Always" }], containers: [] },
      status: {
        phase: "Running",
        initContainerStatuses: [{ name: "s", state: ended(143, "Error") }],
      },
    },
    undefined,
  ],
  "a program that cannot start": [
    withContainers({ name: "node", state: ended(128, "StartError", { message: "no such file" }) }),
    'failed: container "node" ended with exit code 128 (StartError): no such file',
  ],
  "an eviction rather than the signal": [
    { status: evicted },
    "failed (Evicted): The node was low on resource: memory.",
  ],
  "a preemption": [
    { ...DELETED, status: disrupted("Running", "PreemptionByScheduler", "preempting") },
    "was ended (PreemptionByScheduler): preempting",
  ],
  "a kubelet that went": [
    { status: disrupted("Failed", "TerminationByKubelet", "") },
    "was ended (TerminationByKubelet)",
  ],
  "nothing of a pod that is deleted": [
    { ...DELETED, ...withContainers({ name: "node", state: ended(143, "Error") }) },
    undefined,
  ],
  "a failure without a word": [{ status: { phase: "Failed" } }, "failed"],
};
for (const [sentence, [pod, want]] of Object.entries(CASES)) {
  Deno.test(`podFailure() names ${sentence}`, () => {
    const failure = podFailure(KINDS.pod.parse({ metadata: { name: "p" }, ...pod }));
    assert.equal(failure?.text, want && `pod "p" ${want}`);
  });
}

Deno.test("podFailure() says where and when, and cuts what containers say", () => {
  const message = `${"x".repeat(5000)} the end`;
  const failure = podFailure(KINDS.pod.parse({
    metadata: { name: "p" },
    spec: { nodeName: "n1", containers: [] },
    ...withContainers({ name: "node", state: ended(1, "Error", { message }) }),
  }));
  assert.equal(failure?.at, AT);
  assert.match(failure?.text ?? "", /^pod "p" on node "n1" failed: .*…x+ the end$/);
  assert.ok((failure?.text.length ?? 0) < 400);
});

Deno.test("the cache keeps a failure of the pods that failed alone", () => {
  const failed = {
    metadata: { name: "p" },
    ...withContainers({ name: "node", state: ended(1, "E") }),
  };
  const well = {
    metadata: { name: "p" },
    ...withContainers({ name: "node", state: { running: {} } }),
  };
  assert.deepEqual(Object.keys(WATCHED.pod.parse(well)), ["metadata", "status"]);
  assert.deepEqual(Object.keys(WATCHED.pod.parse(failed)), ["metadata", "status", "failure"]);
});
