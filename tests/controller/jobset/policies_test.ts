/** Tests of the executor's policies and of its rendering, by tables. */
import { deepEqual, equal, throws } from "node:assert/strict";
import type { FailurePolicyRule, JobSetSpec, ReplicatedJobStatus } from "../../../crds/jobset.ts";
import type { Job } from "../../../platform/kube/kubernetes.ts";
import { JOBSET_KEYS } from "../../../crds/jobset_names.ts";
import { bucketJobs, isJobReady } from "../../../controller/jobset/buckets.ts";
import {
  CHANGES,
  type StatusDraft,
  withCondition,
} from "../../../controller/jobset/jobset_conditions.ts";
import { resolveSpec } from "../../../controller/jobset/defaults.ts";
import {
  applyFailurePolicy,
  chooseAction,
  patternMatches,
} from "../../../controller/jobset/policy/failure.ts";
import { missingJobs } from "../../../controller/jobset/policy/creation.ts";
import { dependenciesHold } from "../../../controller/jobset/policy/startup.ts";
import { isSuccessful } from "../../../controller/jobset/policy/success.ts";
import { jobKey, renderJob } from "../../../controller/jobset/render.ts";
import { jobSet, replicated } from "./world.ts";

const NOW = Date.parse("2026-01-01T00:00:00Z");

interface Failed {
  readonly name?: string;
  readonly of: string;
  readonly reason?: string;
  readonly message?: string;
  readonly at?: string;
}

function failedJob({ name = "job", of, reason = "X", message = "", at = "00" }: Failed): Job {
  return {
    metadata: {
      name,
      labels: { [JOBSET_KEYS.replicatedJobName]: of, [JOBSET_KEYS.restartAttempt]: "0" },
    },
    status: {
      conditions: [{
        type: "Failed",
        status: "True",
        reason,
        message,
        lastTransitionTime: `2026-01-01T00:00:${at}Z`,
      }],
    },
  };
}

type Rule = Partial<FailurePolicyRule> & Pick<FailurePolicyRule, "action">;
const rules = (...list: Rule[]): FailurePolicyRule[] =>
  list.map((rule, index) => ({ name: `r${index}`, ...rule }));
const RESTART = { action: "RestartJobSet" };
const critical = { reason: "PodFailurePolicy" };

const CHOICES: Record<string, {
  rules: FailurePolicyRule[];
  failed: Failed[];
  want: { action: string; rule?: string; job?: string };
}> = {
  "10: another reason does not match": {
    rules: rules({ action: "FailJobSet", onJobFailureReasons: ["BackoffLimitExceeded"] }),
    failed: [{ of: "a", reason: "PodFailurePolicy" }],
    want: RESTART,
  },
  "11: the message lacks the pattern": {
    rules: rules({
      action: "FailJobSet",
      onJobFailureReasons: ["PodFailurePolicy"],
      onJobFailureMessagePatterns: ["some message"],
    }),
    failed: [{ of: "a", ...critical, message: "some critical error with a message" }],
    want: RESTART,
  },
  "11: the message has the pattern": {
    rules: rules({
      action: "FailJobSet",
      onJobFailureReasons: ["PodFailurePolicy"],
      onJobFailureMessagePatterns: ["some message"],
    }),
    failed: [{ of: "a", ...critical, message: "this is some message with critical error" }],
    want: { action: "FailJobSet", rule: "r0" },
  },
  "12: the first rule in order wins": {
    rules: rules({ action: "FailJobSet" }, { action: "RestartJobSet" }),
    failed: [{ of: "a" }],
    want: { action: "FailJobSet", rule: "r0" },
  },
  "12: reversed": {
    rules: rules({ action: "RestartJobSet" }, { action: "FailJobSet" }),
    failed: [{ of: "a" }],
    want: { action: "RestartJobSet", rule: "r0" },
  },
  "14: another target does not match": {
    rules: rules({ action: "FailJobSet", targetReplicatedJobs: ["a"] }),
    failed: [{ of: "b" }],
    want: RESTART,
  },
  "15: of its matches a rule takes the Job that failed first": {
    rules: rules(
      { action: "FailJobSet", targetReplicatedJobs: ["c"] },
      { action: "RestartJobSet", onJobFailureReasons: ["X"] },
    ),
    failed: [{ of: "a", name: "late", at: "09" }, { of: "a", name: "early", at: "03" }],
    want: { action: "RestartJobSet", rule: "r1", job: "early" },
  },
  "rule order beats failure time": {
    rules: rules({ action: "FailJobSet", targetReplicatedJobs: ["b"] }, {
      action: "RestartJobSet",
    }),
    failed: [{ of: "a", name: "early", at: "01" }, { of: "b", name: "late", at: "05" }],
    want: { action: "FailJobSet", rule: "r0", job: "late" },
  },
  "of Jobs that failed at once the first of the list": {
    rules: [],
    failed: [{ of: "a", name: "one" }, { of: "a", name: "two" }],
    want: { action: "RestartJobSet", job: "one" },
  },
};

for (const [name, { rules, failed, want }] of Object.entries(CHOICES)) {
  Deno.test(`\`chooseAction()\` ${name}`, () => {
    deepEqual(chooseAction(rules, failed.map(failedJob)), { job: "job", ...want });
  });
}

Deno.test("`chooseAction()` matches patterns against an empty message if a failed Job has none", () => {
  const without: Job[] = [
    { metadata: { name: "job" }, status: { conditions: [{ type: "Failed", status: "True" }] } },
    { metadata: { name: "job" } },
  ];
  for (const failed of without) {
    const actionFor = (pattern: string) =>
      chooseAction(rules({ action: "FailJobSet", onJobFailureMessagePatterns: [pattern] }), [
        failed,
      ])
        .action;
    equal(actionFor("^$"), "FailJobSet");
    equal(actionFor("."), "RestartJobSet");
  }
});

Deno.test("`patternMatches()` is RE2, unanchored; what does not compile matches nothing", () => {
  equal(patternMatches("(?i)SOME\\s[[:alpha:]]+", "xx some words"), true);
  equal(patternMatches("\\Asome\\z", "some"), true);
  equal(patternMatches("\\Asome\\z", "some more"), false);
  equal(patternMatches("(", "("), false);
  equal(patternMatches("(a+)+$", `${"a".repeat(5000)}b`), false);
});

Deno.test("`applyFailurePolicy()` case 13: restarts that do not count, then a failure", () => {
  const spec = resolveSpec(jobSet({
    failurePolicy: {
      maxRestarts: 1,
      rules: rules(
        { action: "RestartJobSetAndIgnoreMaxRestarts", targetReplicatedJobs: ["a"] },
        { action: "FailJobSet" },
      ),
    },
  }));
  let draft: StatusDraft = { status: { restarts: 0 }, events: [] };
  for (let round = 0; round < 3; round++) {
    draft = applyFailurePolicy(draft, spec, { failed: [failedJob({ of: "a" })], now: NOW });
  }
  deepEqual([draft.status.restarts, draft.status.restartsCountTowardsMax], [3, undefined]);
  draft = applyFailurePolicy(draft, spec, { failed: [failedJob({ of: "b" })], now: NOW });
  equal(draft.status.terminalState, "Failed");
  equal(draft.status.restarts, 3);
});

Deno.test("`applyFailurePolicy()` maxRestarts 0 without rules fails at the first failure", () => {
  const spec = resolveSpec(jobSet({ failurePolicy: {} }));
  const draft = applyFailurePolicy({ status: {}, events: [] }, spec, {
    failed: [failedJob({ of: "a" })],
    now: NOW,
  });
  equal(draft.status.conditions?.[0]?.reason, "ReachedMaxRestarts");
});

Deno.test("`applyFailurePolicy()` reports a pattern that does not compile, and continues", () => {
  const spec = resolveSpec(jobSet({
    failurePolicy: {
      maxRestarts: 1,
      rules: rules({ action: "FailJobSet", onJobFailureMessagePatterns: ["ok", "("] }),
    },
  }));
  const draft = applyFailurePolicy({ status: {}, events: [] }, spec, {
    failed: [failedJob({ of: "a", message: "(" })],
    now: NOW,
  });
  equal(draft.status.restarts, 1);
  deepEqual(draft.events[0], {
    type: "Warning",
    reason: "InvalidFailurePolicyPattern",
    message:
      'spec.failurePolicy.rules[0].onJobFailureMessagePatterns[1]: "(" is no RE2 pattern and matches nothing',
  });
});

Deno.test("`dependenciesHold()` case 29: counts ready, succeeded and failed, and wants equality", () => {
  const spec = resolveSpec(jobSet({
    replicatedJobs: [
      replicated("a", { replicas: 3 }),
      replicated("b", { dependsOn: [{ name: "a", status: "Ready" }] }),
    ],
  }));
  const b = spec.replicatedJobs[1];
  const counter = (ready: number, succeeded: number, failed: number): ReplicatedJobStatus => {
    return { name: "a", ready, succeeded, failed, active: 0, suspended: 0 };
  };
  equal(b && dependenciesHold(b, spec, [counter(1, 1, 1)]), true);
  equal(b && dependenciesHold(b, spec, [counter(2, 0, 0)]), false);
});

const READINESS: [string, Job["spec"], Job["status"], boolean][] = [
  ["1/2/1/1", { parallelism: 1, completions: 2, template: {} }, { ready: 1, succeeded: 1 }, true],
  ["5/-/2/3", { parallelism: 5, template: {} }, { ready: 2, succeeded: 3 }, true],
  ["3/2/1/1", { parallelism: 3, completions: 2, template: {} }, { ready: 1, succeeded: 1 }, true],
  ["2/3/2/1", { parallelism: 2, completions: 3, template: {} }, { ready: 2, succeeded: 1 }, true],
  ["4/5/2/1", { parallelism: 4, completions: 5, template: {} }, { ready: 2, succeeded: 1 }, false],
];
for (const [name, spec, status, want] of READINESS) {
  Deno.test(`\`isJobReady()\` case 30: parallelism/completions/ready/succeeded ${name}`, () => {
    equal(isJobReady({ spec, status }), want);
  });
}

Deno.test("`missingJobs()` case 31: a name in any bucket is taken", () => {
  const object = jobSet({ replicatedJobs: [replicated("a", { replicas: 2 })] });
  const spec = resolveSpec(object);
  for (const bucket of ["active", "succeeded", "failed", "previous"] as const) {
    const none = { active: [], succeeded: [], failed: [], previous: [] };
    const buckets = { ...none, [bucket]: [{ metadata: { name: "t-a-0" } }] };
    const missing = missingJobs({
      jobSet: object,
      spec,
      buckets,
      startable: spec.replicatedJobs,
      status: {},
    });
    deepEqual(missing.flat().map(({ index }) => index), [1], bucket);
  }
});

Deno.test("`isSuccessful()` needs a succeeded Job, also without a success policy", () => {
  const spec = resolveSpec(jobSet({ replicatedJobs: [] }));
  equal(isSuccessful(spec, []), false);
});

Deno.test("`bucketJobs()` refuses a Job without a readable restart attempt, by name", () => {
  throws(() => bucketJobs([{ metadata: { name: "j" } }]), /Job j: label .*restart-attempt/);
});

Deno.test("`bucketJobs()` does not mistake interim conditions for the end", () => {
  const conditions = ["FailureTarget", "SuccessCriteriaMet", "Suspended"]
    .map((type) => ({ type, status: "True" }));
  const labels = { [JOBSET_KEYS.restartAttempt]: "1" };
  equal(
    bucketJobs([{ metadata: { labels }, status: { conditions } }], { restarts: 1 }).active.length,
    1,
  );
  equal(
    bucketJobs([{ metadata: { labels }, status: { conditions } }], { restarts: 2 }).previous.length,
    1,
  );
});

Deno.test("`jobKey()` is the SHA-1 of namespace and Job", () => {
  equal(jobKey("default", "js-rj-0"), "fe2d1d31463b1f8d34562cdccf8df683f29fbbd8");
});

Deno.test("`renderJob()` case 36: global and group indexes", () => {
  const object = jobSet({
    replicatedJobs: [
      replicated("a", { replicas: 2, groupName: "A" }),
      replicated("b", { replicas: 4, groupName: "B" }),
      replicated("c", { replicas: 1, groupName: "A" }),
    ],
  }, { uid: "u" });
  const spec = resolveSpec(object);
  const labels = (rj: number, index: number) => {
    const replicatedJob = spec.replicatedJobs[rj];
    if (!replicatedJob) throw new Error(`no replicated job ${rj}`);
    return renderJob({ jobSet: object, spec, replicatedJob, index, status: { restarts: 7 } }).spec
      ?.template
      .metadata?.labels;
  };
  equal(labels(1, 3)?.[JOBSET_KEYS.jobGlobalIndex], "5");
  equal(labels(2, 0)?.[JOBSET_KEYS.jobGroupIndex], "2");
  equal(labels(2, 0)?.[JOBSET_KEYS.groupReplicas], "3");
  equal(labels(2, 0)?.[JOBSET_KEYS.globalReplicas], "7");
  equal(labels(2, 0)?.[JOBSET_KEYS.restartAttempt], "7");
  equal(labels(2, 0)?.[JOBSET_KEYS.jobSetUid], "u");
});

Deno.test("`renderJob()` applies the webhook's defaults and keeps what is set", () => {
  const object = jobSet({ replicatedJobs: [replicated("a")] }, { uid: "u" });
  const spec = resolveSpec(object);
  const [replicatedJob] = spec.replicatedJobs;
  if (!replicatedJob) throw new Error("no replicated job");
  const job = renderJob({ jobSet: object, spec, replicatedJob, index: 0, status: {} });
  equal(job.spec?.completionMode, "Indexed");
  equal(job.spec?.template.spec?.restartPolicy, "OnFailure");
  equal(job.spec?.suspend, false);
  equal(job.spec?.template.spec?.subdomain, "t");
  deepEqual(job.metadata?.ownerReferences, [{
    apiVersion: "jobset.x-k8s.io/v1alpha2",
    kind: "JobSet",
    name: "t",
    uid: "u",
    controller: true,
    blockOwnerDeletion: true,
  }]);
});

Deno.test("`withCondition()` writes False over an existing condition only", () => {
  const empty: StatusDraft = { status: {}, events: [] };
  equal(withCondition(empty, CHANGES.resumed, NOW), empty);
  const suspended = withCondition(empty, CHANGES.suspended, NOW);
  equal(withCondition(suspended, CHANGES.suspended, NOW + 5000), suspended);
  const resumed = withCondition(suspended, CHANGES.resumed, NOW + 5000);
  equal(resumed.status.conditions?.[0]?.lastTransitionTime, "2026-01-01T00:00:05Z");
});

Deno.test("`withCondition()` flips only the status of the opposite startup condition", () => {
  const started = withCondition({ status: {}, events: [] }, CHANGES.startupInProgress, NOW);
  const [old] = started.status.conditions ?? [];
  const done = withCondition(started, CHANGES.startupCompleted, NOW + 5000);
  deepEqual(done.status.conditions?.[0], { ...old, status: "False" });
  equal(done.events.length, 2);
});

Deno.test("`resolveSpec()` changes nothing that it is given", () => {
  const object = jobSet({ failurePolicy: { rules: [{ name: "", action: "FailJobSet" }] } });
  const before: { spec?: JobSetSpec } = structuredClone(object);
  equal(resolveSpec(object).failurePolicy?.rules[0]?.name, "failurePolicyRule0");
  deepEqual(object, before);
});
