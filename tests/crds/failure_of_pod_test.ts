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

const labelled = (labels: Record<string, string>) => ({ metadata: { name: "p", labels } });
const MORE = { jobset: "jobset.sigs.k8s.io", v1: "training.kubeflow.org" };

/** A pod, and of its failure what is wanted: fields that are not named are not compared. */
const CASES: Record<string, [pod: object, want: object | undefined]> = {
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
  "nothing of a container that ended well after a restart": [
    withContainers({ name: "node", state: ended(0, "Completed"), lastState: ended(1, "Error") }),
    undefined,
  ],
  "a container out of memory": [
    withContainers({ name: "node", state: ended(137, "OOMKilled") }),
    { container: "node", exitCode: 137, reason: "OOMKilled", time: AT },
  ],
  "an error and its last words, without colours and what was written over": [
    withContainers({
      name: "node",
      state: ended(1, "Error", {
        message: " 1 %\r 2 %\nTraceback\n\u001b[31m  boom\u001b[0m\u0007\n",
      }),
    }),
    { message: "2 %\nTraceback\n  boom\\u0007" },
  ],
  "a container that was started again, by its last end": [
    withContainers({
      name: "node",
      state: { waiting: { reason: "CrashLoopBackOff" } },
      lastState: ended(2, "Error"),
    }),
    { exitCode: 2, reason: "Error" },
  ],
  "the container that ended first": [
    withContainers(
      { name: "late", state: ended(1, "Error", { finishedAt: LATER }) },
      { name: "early", state: ended(137, "OOMKilled") },
      { name: "good", state: ended(0, "Completed", { finishedAt: "2025-01-01T00:00:00Z" }) },
    ),
    { container: "early", reason: "OOMKilled" },
  ],
  "an init container": [
    {
      status: {
        phase: "Pending",
        initContainerStatuses: [{ name: "i", state: ended(3, "Error") }],
      },
    },
    { container: "i", exitCode: 3 },
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
    { reason: "StartError", message: "no such file" },
  ],
  "nothing of a container that is being created": [
    withContainers({ name: "node", state: { waiting: { reason: "ContainerCreating" } } }),
    undefined,
  ],
  "an eviction rather than the signal": [
    { status: evicted },
    {
      reason: "Evicted",
      message: "The node was low on resource: memory.",
      exitCode: undefined,
      time: AT,
    },
  ],
  "a preemption": [
    { ...DELETED, status: disrupted("Running", "PreemptionByScheduler", "preempting") },
    { reason: "PreemptionByScheduler", message: "preempting" },
  ],
  "a kubelet that went": [
    { status: disrupted("Failed", "TerminationByKubelet", "") },
    { reason: "TerminationByKubelet", message: undefined },
  ],
  "nothing of a pod that is deleted": [
    { ...DELETED, ...withContainers({ name: "node", state: ended(143, "Error") }) },
    undefined,
  ],
  "a failure without a word, by its start": [
    { status: { phase: "Failed", startTime: AT } },
    { reason: undefined, exitCode: undefined, time: AT },
  ],
  "the replica of a JobSet's pod": [
    {
      ...labelled({
        [`${MORE.jobset}/replicatedjob-name`]: "node",
        [`${MORE.jobset}/job-index`]: "0",
        "batch.kubernetes.io/job-completion-index": "3",
      }),
      status: { phase: "Failed" },
    },
    { replica: "node-3" },
  ],
  "the replica of one of several Jobs": [
    {
      ...labelled({
        [`${MORE.jobset}/replicatedjob-name`]: "node",
        [`${MORE.jobset}/job-index`]: "2",
        "batch.kubernetes.io/job-completion-index": "1",
      }),
      status: { phase: "Failed" },
    },
    { replica: "node-2-1" },
  ],
  "the replica of a v1 job's pod": [
    {
      ...labelled({ [`${MORE.v1}/replica-type`]: "worker", [`${MORE.v1}/replica-index`]: "1" }),
      status: { phase: "Failed" },
    },
    { replica: "worker-1" },
  ],
};
for (const [sentence, [pod, want]] of Object.entries(CASES)) {
  Deno.test(`podFailure() names ${sentence}`, () => {
    const found = podFailure(KINDS.pod.parse({ metadata: { name: "p" }, ...pod }))?.failure;
    if (want === undefined) return assert.equal(found, undefined);
    assert.equal(found?.pod, "p");
    for (const [key, value] of Object.entries(want)) {
      assert.equal(new Map(Object.entries(found ?? {})).get(key), value, key);
    }
  });
}

Deno.test("podFailure() says how the pod goes on, and keeps the end of a long message", () => {
  const startedAt = "2026-01-01T00:00:06Z";
  const message = `${"é".repeat(5000)} the end`;
  const found = podFailure(KINDS.pod.parse({
    metadata: { name: "p" },
    spec: { nodeName: "n1", containers: [] },
    ...withContainers({
      name: "node",
      restartCount: 3,
      state: { running: { startedAt: LATER } },
      lastState: ended(1, "Error", { message, startedAt }),
    }),
  }));
  assert.ok(found);
  assert.deepEqual({ ...found, failure: undefined }, {
    failure: undefined,
    ranMs: 4000,
    restarts: 3,
    runsSince: LATER,
  });
  assert.equal(found.failure.node, "n1");
  assert.match(found.failure.message ?? "", /^é+ the end$/);
  assert.equal(new TextEncoder().encode(found.failure.message).length, 2048);
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
