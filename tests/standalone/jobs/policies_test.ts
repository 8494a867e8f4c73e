/** Tests of the Job controller's pure parts, by tables (Kubernetes batch/v1). */
import { deepEqual, equal, match } from "node:assert/strict";
import type { Pod } from "../../../platform/kube/kubernetes.ts";
import { JOB_KEYS } from "../../../crds/job_names.ts";
import { decideJob } from "../../../standalone/jobs/job_decision.ts";
import { formatIndexes, parseIndexes } from "../../../crds/completion_indexes.ts";
import { indexOf } from "../../../standalone/jobs/pods.ts";
import { takeAccount } from "../../../standalone/jobs/policy/accounting.ts";
import {
  backoffLeft,
  KUBERNETES_POD_BACKOFF,
} from "../../../standalone/jobs/policy/pod_failure_backoff.ts";
import { judgePod } from "../../../standalone/jobs/policy/pod_failure.ts";
import { randomSuffix } from "../../../platform/base/random_suffix.ts";
import { podNamePrefix, renderPod } from "../../../standalone/jobs/pod_rendering.ts";
import { jobSettings, type PodFailureRule } from "../../../standalone/jobs/job_settings.ts";
import { indexed, job } from "./world.ts";

const NOW = Date.parse("2026-01-01T01:00:00Z");

const INDEXES: [string, number[]][] = [
  ["", []],
  ["0", [0]],
  ["0,1", [0, 1]],
  ["1,3-5,7", [7, 3, 4, 1, 5]],
  ["0-2", [2, 1, 0]],
];
for (const [text, indexes] of INDEXES) {
  Deno.test(`\`formatIndexes()\` and \`parseIndexes()\` agree on "${text}"`, () => {
    equal(formatIndexes(indexes), text);
    deepEqual([...parseIndexes(text)].sort(), [...indexes].sort());
  });
}

Deno.test("`parseIndexes()` leaves out everything but indexes", () => {
  deepEqual([...parseIndexes("x,-1,2,9-999999999999,3-99", 5)], [2, 3, 4]);
});

Deno.test("`indexOf()` reads an annotation below the limit", () => {
  const pod = (value: string): Pod => ({
    metadata: { annotations: { [JOB_KEYS.completionIndex]: value } },
  });
  equal(indexOf(pod("3"), 4), 3);
  equal(indexOf(pod("4"), 4), undefined);
  equal(indexOf(pod("-1")), undefined);
  equal(indexOf({}), undefined);
});

function ended(phase: "Failed" | "Succeeded", secondsAgo: number, exitCode = 1): Pod {
  const finishedAt = new Date(NOW - secondsAgo * 1000).toISOString();
  const terminated = { exitCode: phase === "Succeeded" ? 0 : exitCode, finishedAt };
  return {
    metadata: { name: "p", namespace: "n", uid: `${phase}${secondsAgo}` },
    status: {
      phase,
      containerStatuses: [{
        name: "main",
        image: "",
        imageID: "",
        ready: false,
        restartCount: 0,
        state: { terminated },
      }],
    },
  };
}

const IGNORE: PodFailureRule = {
  action: "Ignore",
  onExitCodes: { operator: "In", values: [9] },
};
const DELAYS: Record<string, { pods: Pod[]; rules?: PodFailureRule[]; want: number }> = {
  "nothing failed": { pods: [ended("Succeeded", 1)], want: 0 },
  "one failed just now": { pods: [ended("Failed", 0)], want: 10_000 },
  "one failed 4 s ago": { pods: [ended("Failed", 4)], want: 6000 },
  "one failed long ago": { pods: [ended("Failed", 400)], want: 0 },
  "three failed": {
    pods: [ended("Failed", 0), ended("Failed", 20), ended("Failed", 50)],
    want: 40_000,
  },
  "one succeeded since": { pods: [ended("Failed", 5), ended("Succeeded", 3)], want: 0 },
  "one failed since one succeeded": {
    pods: [ended("Failed", 9), ended("Succeeded", 5), ended("Failed", 1)],
    want: 9000,
  },
  "twelve failed: the longest delay": {
    pods: Array.from({ length: 12 }, (_, index) => ended("Failed", index)),
    want: 600_000,
  },
  "one that does not count": { pods: [ended("Failed", 0, 9)], rules: [IGNORE], want: 0 },
};
for (const [name, { pods, rules = [], want }] of Object.entries(DELAYS)) {
  Deno.test(`\`backoffLeft()\` ${name}`, () => {
    equal(backoffLeft(pods, { rules, backoff: KUBERNETES_POD_BACKOFF, now: NOW }), want);
  });
}

const VERDICTS: Record<string, { rules: PodFailureRule[]; pod?: Pod; want: string }> = {
  "no rule": { rules: [], want: "Count" },
  "In": {
    rules: [{ action: "FailJob", onExitCodes: { operator: "In", values: [1] } }],
    want: "FailJob",
  },
  "NotIn": {
    rules: [{ action: "FailJob", onExitCodes: { operator: "NotIn", values: [1] } }],
    want: "Count",
  },
  "another container": {
    rules: [{
      action: "FailJob",
      onExitCodes: { containerName: "other", operator: "In", values: [1] },
    }],
    want: "Count",
  },
  "the first rule that matches": {
    rules: [
      { action: "Count", onExitCodes: { operator: "In", values: [1] } },
      { action: "FailJob", onExitCodes: { operator: "In", values: [1] } },
    ],
    want: "Count",
  },
  "exit code 0 never matches": {
    rules: [{ action: "FailJob", onExitCodes: { operator: "NotIn", values: [5] } }],
    pod: ended("Succeeded", 0),
    want: "Count",
  },
  "a condition, with status True by default": {
    rules: [{
      action: "Ignore",
      onPodConditions: [{ type: "DisruptionTarget", status: "True" }],
    }],
    pod: { status: { conditions: [{ type: "DisruptionTarget", status: "True" }] } },
    want: "Ignore",
  },
};
for (const [name, { rules, pod = ended("Failed", 0), want }] of Object.entries(VERDICTS)) {
  Deno.test(`\`judgePod()\` ${name}`, () => equal(judgePod(pod, rules).action, want));
}

Deno.test("`renderPod()` gives an Indexed pod its index in every way", () => {
  const object = indexed(2);
  object.metadata = { name: "j", namespace: "n", uid: "u" };
  const spec = object.spec?.template.spec;
  if (!spec) throw new Error("no pod template");
  spec.initContainers = [{ name: "init", image: "image" }];
  spec.containers[0] = {
    name: "main",
    image: "image",
    env: [{ name: "JOB_COMPLETION_INDEX", value: "mine" }],
  };
  const pod = renderPod(object, "abcde", 1);
  equal(pod.metadata?.name, "j-1-abcde");
  equal(pod.spec?.hostname, "j-1");
  equal(pod.metadata?.annotations?.[JOB_KEYS.completionIndex], "1");
  deepEqual(pod.metadata?.labels, {
    "batch.kubernetes.io/job-name": "j",
    "job-name": "j",
    "batch.kubernetes.io/controller-uid": "u",
    "controller-uid": "u",
    "batch.kubernetes.io/job-completion-index": "1",
  });
  deepEqual(pod.metadata?.finalizers, ["batch.kubernetes.io/job-tracking"]);
  deepEqual(pod.spec?.containers[0]?.env, [{ name: "JOB_COMPLETION_INDEX", value: "mine" }]);
  equal(
    pod.spec?.initContainers?.[0]?.env?.[0]?.valueFrom?.fieldRef?.fieldPath,
    "metadata.labels['batch.kubernetes.io/job-completion-index']",
  );
  equal(pod.metadata?.ownerReferences?.[0]?.uid, "u");
});

Deno.test("`podNamePrefix()` leaves room for the random part, and `randomSuffix()` fills it", () => {
  equal(podNamePrefix("j", undefined), "j-");
  equal(podNamePrefix("x".repeat(63), 12).length, 58);
  match(podNamePrefix("x".repeat(63), 12), /x-12-$/);
  match(randomSuffix(Math.random), /^[b-z2-9]{5}$/);
});

Deno.test("`jobSettings()` has Kubernetes' defaults", () => {
  const { parallelism, completions, backoffLimit, indexed, replaceEndedOnly } = jobSettings(job());
  deepEqual({ parallelism, completions, backoffLimit, indexed, replaceEndedOnly }, {
    parallelism: 1,
    completions: 1,
    backoffLimit: 6,
    indexed: false,
    replaceEndedOnly: false,
  });
  equal(jobSettings(job({ parallelism: 3 })).completions, undefined);
  equal(jobSettings(job({ podFailurePolicy: { rules: [] } })).replaceEndedOnly, true);
});

Deno.test("`takeAccount()` moves a noted pod to the counter only when its finalizer is gone", () => {
  const object = job({ completions: 2, parallelism: 2 });
  object.status = { succeeded: 3, uncountedTerminatedPods: { succeeded: ["a", "b"] } };
  const tracked: Pod = {
    metadata: { uid: "a", finalizers: [JOB_KEYS.trackingFinalizer] },
    status: { phase: "Succeeded" },
  };
  const account = takeAccount(
    { job: object, pods: [tracked], settings: jobSettings(object), now: NOW },
    undefined,
  );
  equal(account.succeeded, 5);
  equal(account.counters.succeeded, 4);
  deepEqual(account.uncounted.succeeded, ["a"]);
  deepEqual(account.release, [tracked]);
});

Deno.test("`takeAccount()` notes at most 500 pods at a time", () => {
  const object = job({ completions: 900, parallelism: 900 });
  const pods = Array.from({ length: 700 }, (_, index): Pod => ({
    metadata: { uid: `${index}`, finalizers: [JOB_KEYS.trackingFinalizer] },
    status: { phase: "Succeeded" },
  }));
  const account = takeAccount(
    { job: object, pods, settings: jobSettings(object), now: NOW },
    undefined,
  );
  equal(account.uncounted.succeeded.length, 500);
  equal(account.more, true);
});

Deno.test("`decideJob()` makes nothing for a Job that is being deleted", () => {
  const object = indexed(2);
  object.metadata = { ...object.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" };
  const plan = decideJob({ job: object, pods: [], now: NOW, backoff: KUBERNETES_POD_BACKOFF });
  deepEqual([plan.create, plan.discard, plan.remove], [[], [], []]);
});
