/** Tests of what follows from the pods of a v1 job: slots, counts, conditions and limits. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { podsToClean } from "../../../controller/jobs/clean_up.ts";
import { type NewCondition, withCondition } from "../../../controller/jobs/condition_list.ts";
import { groupPods, replicaStatuses } from "../../../controller/jobs/counts.ts";
import { reachedLimit } from "../../../controller/jobs/limits.ts";
import { planReplicas } from "../../../controller/jobs/replica_plan.ts";
import { KIND_RULES } from "../../../controller/jobs/rules_by_kind.ts";
import { judgeFailedPod, planSlots } from "../../../controller/jobs/slots.ts";
import {
  resumedCondition,
  suspendedConditions,
  verdictOf,
} from "../../../controller/jobs/verdict.ts";
import type { V1Condition, V1Status } from "../../../crds/v1/job.ts";
import type { V1KindName } from "../../../crds/v1/kinds.ts";
import { podsIn, type PodStates, replicaOf, type TypeSketch, v1Job, v1Run } from "./v1_jobs.ts";

const NO_FAILURES = { restarting: [], permanentExit: [] };

interface Case {
  readonly what: string;
  readonly kind: V1KindName;
  readonly types: Readonly<Record<string, TypeSketch>>;
  readonly more?: Readonly<Record<string, unknown>>;
  readonly pods: PodStates;
  /** The conditions that are set, and the message of the last one. */
  readonly want: readonly string[];
  readonly message?: string;
}

const RUNS = ["Running"] as const;
const DONE = ["Succeeded", 0] as const;
const LOST = ["Failed", 1] as const;
const WAITS = ["Pending"] as const;

const CASES: readonly Case[] = [
  {
    what: "without a worker there is nothing to wait for",
    kind: "TFJob",
    types: { PS: 1, Worker: 0 },
    pods: { PS: [WAITS], Worker: [] },
    want: ["Succeeded"],
  },
  {
    what: "a job of no workers has succeeded, as every kind's has whose workers decide",
    kind: "JAXJob",
    types: { Worker: 0 },
    pods: { Worker: [] },
    want: ["Succeeded"],
  },
  {
    what: "nothing without a worker while its chief waits",
    kind: "TFJob",
    types: { Chief: 1, Worker: 0 },
    pods: { Chief: [WAITS], Worker: [] },
    want: [],
  },
  {
    what: "nothing while all wait",
    kind: "TFJob",
    types: { PS: 2, Worker: 4 },
    pods: { PS: [WAITS, WAITS], Worker: [WAITS, WAITS, WAITS, WAITS] },
    want: [],
  },
  {
    what: "Running",
    kind: "TFJob",
    types: { PS: 1, Worker: 2 },
    pods: { PS: [RUNS], Worker: [RUNS, WAITS] },
    want: ["Running"],
    message: "TFJob ns/j is running.",
  },
  {
    what: "the first worker's success is the job's",
    kind: "TFJob",
    types: { PS: 1, Worker: 2 },
    pods: { PS: [RUNS], Worker: [DONE, RUNS] },
    want: ["Succeeded"],
    message: "TFJob ns/j successfully completed.",
  },
  {
    what: "with AllWorkers it is not",
    kind: "TFJob",
    types: { PS: 1, Worker: 2 },
    more: { successPolicy: "AllWorkers" },
    pods: { PS: [RUNS], Worker: [DONE, RUNS] },
    want: ["Running"],
  },
  {
    what: "all workers have, servers may still run",
    kind: "TFJob",
    types: { PS: 1, Worker: 2 },
    more: { successPolicy: "AllWorkers" },
    pods: { PS: [RUNS], Worker: [DONE, DONE] },
    want: ["Succeeded"],
  },
  {
    what: "a worker that failed under Never",
    kind: "TFJob",
    types: { Worker: 4 },
    more: { successPolicy: "AllWorkers" },
    pods: { Worker: [DONE, RUNS, RUNS, LOST] },
    want: ["Failed"],
    message: "TFJob ns/j has failed because 1 Worker replica(s) failed.",
  },
  {
    what: "workers decide nothing beside a chief",
    kind: "TFJob",
    types: { Chief: 1, Worker: 2 },
    pods: { Chief: [RUNS], Worker: [DONE, DONE] },
    want: ["Running"],
  },
  {
    what: "a chief's success counts although workers failed",
    kind: "TFJob",
    types: { Chief: 1, Worker: 2 },
    pods: { Chief: [DONE], Worker: [LOST, LOST] },
    want: ["Succeeded"],
  },
  {
    what: "a server that failed under Never",
    kind: "TFJob",
    types: { Chief: 1, PS: 1 },
    pods: { Chief: [RUNS], PS: [LOST] },
    want: ["Running", "Failed"],
  },
  {
    what: "an evaluator's success decides nothing",
    kind: "TFJob",
    types: { PS: 1, Worker: 2, Evaluator: 1 },
    pods: { PS: [RUNS], Worker: [RUNS, RUNS], Evaluator: [DONE] },
    want: ["Running"],
  },
  {
    what: "an evaluator's failure ends the job",
    kind: "TFJob",
    types: { Worker: 1, Evaluator: 1 },
    pods: { Worker: [RUNS], Evaluator: [LOST] },
    want: ["Failed"],
    message: "TFJob ns/j has failed because 1 Evaluator replica(s) failed.",
  },
  {
    what: "a dynamic worker's failure is forgiven",
    kind: "TFJob",
    types: { Worker: 2 },
    more: { enableDynamicWorker: true },
    pods: { Worker: [RUNS, LOST] },
    want: ["Running"],
  },
  {
    what: "a pod that is being deleted fails nothing",
    kind: "TFJob",
    types: { Worker: 2 },
    pods: { Worker: [RUNS, ["Running", undefined, "terminating"]] },
    want: ["Running"],
  },
  {
    what: "servers alone never succeed",
    kind: "TFJob",
    types: { PS: 1 },
    pods: { PS: [DONE] },
    want: [],
  },
  {
    what: "the master decides",
    kind: "PyTorchJob",
    types: { Master: {}, Worker: 2 },
    pods: { Master: [DONE], Worker: [RUNS, RUNS] },
    want: ["Succeeded"],
    message: "PyTorchJob j is successfully completed.",
  },
  {
    what: "without a master all workers do",
    kind: "PyTorchJob",
    types: { Worker: 2 },
    pods: { Worker: [DONE, RUNS] },
    want: ["Running"],
    message: "PyTorchJob ns/j is running.",
  },
  {
    what: "elastic: one worker is enough",
    kind: "PyTorchJob",
    types: { Worker: 2 },
    more: { elasticPolicy: { minReplicas: 1, maxReplicas: 2 } },
    pods: { Worker: [DONE, RUNS] },
    want: ["Succeeded"],
    message: "PyTorchJob ns/j successfully completed.",
  },
  {
    what: "a worker that failed under Never",
    kind: "PyTorchJob",
    types: { Master: 1, Worker: { replicas: 1, restartPolicy: "Never" } },
    pods: { Master: [RUNS], Worker: [LOST] },
    want: ["Running", "Failed"],
    message: "PyTorchJob j is failed because 1 Worker replica(s) failed.",
  },
  {
    what: "the master's success",
    kind: "XGBoostJob",
    types: { Master: 1, Worker: 1 },
    pods: { Master: [DONE], Worker: [RUNS] },
    want: ["Succeeded"],
  },
  {
    what: "the scheduler's success",
    kind: "MXJob",
    types: { Scheduler: 1, Server: 1, Worker: 1 },
    pods: { Scheduler: [DONE], Server: [RUNS], Worker: [RUNS] },
    want: ["Succeeded"],
  },
  {
    what: "the others decide nothing",
    kind: "MXJob",
    types: { Scheduler: 1, Server: 1, Worker: 1 },
    pods: { Scheduler: [RUNS], Server: [DONE], Worker: [DONE] },
    want: ["Running"],
  },
  {
    what: "a worker that is alone",
    kind: "MXJob",
    types: { Worker: 1 },
    pods: { Worker: [DONE] },
    want: ["Succeeded"],
  },
  {
    what: "all tuners",
    kind: "MXJob",
    types: { TunerTracker: 1, TunerServer: 1, Tuner: 1 },
    more: { jobMode: "MXTune" },
    pods: { TunerTracker: [RUNS], TunerServer: [RUNS], Tuner: [DONE] },
    want: ["Succeeded"],
  },
  {
    what: "all workers",
    kind: "JAXJob",
    types: { Worker: 2 },
    pods: { Worker: [DONE, DONE] },
    want: ["Succeeded"],
    message: "JAXJob ns/j successfully completed.",
  },
  {
    what: "the launcher",
    kind: "MPIJob",
    types: { Launcher: 1, Worker: 1 },
    pods: { Launcher: [DONE], Worker: [RUNS] },
    want: ["Succeeded"],
  },
  {
    what: "a worker that failed",
    kind: "MPIJob",
    types: { Launcher: 1, Worker: 2 },
    pods: { Launcher: [RUNS], Worker: [RUNS, LOST] },
    want: ["Running", "Failed"],
    message: "MPIJob j is failed because 1 Worker replica(s) failed.",
  },
  {
    what: "a worker that was evicted",
    kind: "MPIJob",
    types: { Launcher: 1, Worker: 2 },
    pods: { Launcher: [RUNS], Worker: [RUNS, ["Failed", undefined, "evicted"]] },
    want: ["Running", "Failed"],
  },
];

for (const { what, kind, types, more, pods, want, message } of CASES) {
  Deno.test(`\`verdictOf()\` of a ${kind}: ${what}`, () => {
    const run = v1Run(kind, types, more);
    const byType = groupPods(run, podsIn(run, pods));
    const { conditions } = verdictOf(run, KIND_RULES[kind], byType, NO_FAILURES);
    assert.deepEqual(conditions.map(({ type }) => type), want);
    if (message !== undefined) assert.equal(conditions.at(-1)?.message, message);
  });
}

Deno.test("`verdictOf()` says Restarting instead of Running while failed pods are made again", () => {
  const run = v1Run("PyTorchJob", { Master: 1, Worker: 2 });
  const byType = groupPods(run, podsIn(run, { Master: [RUNS], Worker: [RUNS, LOST] }));
  const verdict = verdictOf(run, KIND_RULES.PyTorchJob, byType, {
    restarting: [{ type: "Worker", count: 1 }],
    permanentExit: [],
  });
  assert.deepEqual(verdict.conditions, [{
    type: "Restarting",
    status: "True",
    reason: "PyTorchJobRestarting",
    message: "job j is restarting because Worker replica(s) failed.",
  }]);
  assert.deepEqual(verdict.events.map(({ message }) => message), [
    "PyTorchJob j is restarting because 1 Worker replica(s) failed.",
  ]);
});

Deno.test("`verdictOf()` lets a permanent exit code end the job before anything else", () => {
  const run = v1Run("TFJob", { Chief: 1, Worker: { replicas: 1, restartPolicy: "ExitCode" } });
  const byType = groupPods(run, podsIn(run, { Chief: [DONE], Worker: [LOST] }));
  const { conditions, events } = verdictOf(run, KIND_RULES.TFJob, byType, {
    restarting: [],
    permanentExit: ["Worker"],
  });
  assert.equal(conditions[0]?.message, 'job "j" is failing because "Worker" replica(s) failed.');
  assert.deepEqual(events.map(({ type, reason }) => [type, reason]), [["Warning", "TFJobFailed"]]);
});

const EXITS: readonly (readonly [string, number | undefined, string])[] = [
  ["Always", 1, "restart"],
  ["OnFailure", 1, "restart"],
  ["Never", 137, "permanent"],
  ["ExitCode", 1, "permanent"],
  ["ExitCode", 127, "permanent"],
  ["ExitCode", 128, "restart"],
  ["ExitCode", 130, "restart"],
  ["ExitCode", undefined, "restart"],
];

for (const [restartPolicy, code, want] of EXITS) {
  Deno.test(`\`judgeFailedPod()\`: ${restartPolicy} and exit code ${code} mean ${want}`, () => {
    const run = v1Run("TFJob", { Worker: { replicas: 2, restartPolicy } });
    const [pod] = podsIn(run, { Worker: [["Failed", code]] });
    assert.ok(pod);
    assert.equal(judgeFailedPod(run, replicaOf(run, "Worker").of, pod), want);
  });
}

for (const [kind, want] of [["TFJob", ["Worker"]], ["MPIJob", []]] as const) {
  Deno.test(`\`planReplicas()\` of a ${kind}: exit codes of workers end ${want.length} types`, () => {
    const run = v1Run(kind, { Worker: { replicas: 1, restartPolicy: "ExitCode" } });
    const plan = planReplicas(run, { pods: podsIn(run, { Worker: [LOST] }), services: [] });
    assert.deepEqual(plan.permanentExit, want);
    assert.deepEqual(plan.deletePods, []);
  });
}

Deno.test("`planSlots()` finds what is missing, what is too much, and what is crowded", () => {
  const run = v1Run("TFJob", { PS: 2, Worker: 4 });
  const pods = podsIn(run, {
    PS: [WAITS],
    Worker: [undefined, WAITS, WAITS, undefined, WAITS, WAITS],
  });
  const twin = podsIn(run, { Worker: [undefined, undefined, WAITS] });
  const { of } = replicaOf(run, "Worker");
  const plan = planSlots(run, of, [...pods, ...twin]);
  assert.deepEqual(plan.missing, [0, 3]);
  assert.deepEqual(plan.crowded, [2]);
  assert.deepEqual(plan.single.map(({ index }) => index), [1]);
  assert.deepEqual(plan.surplus.map(({ metadata }) => metadata?.name), [
    "j-worker-4",
    "j-worker-5",
  ]);
  assert.deepEqual(planSlots(run, replicaOf(run, "PS").of, pods).missing, [1]);
});

Deno.test("`planSlots()` ignores a pod whose index is none", () => {
  const run = v1Run("TFJob", { Worker: 1 });
  for (const index of ["", "-1", "1e3", "x", "99999999999999"]) {
    const [pod] = podsIn(run, { Worker: [WAITS] });
    const labels = { ...pod?.metadata?.labels, "training.kubeflow.org/replica-index": index };
    const plan = planSlots(run, replicaOf(run, "Worker").of, [{ ...pod, metadata: { labels } }]);
    assert.deepEqual(plan, { missing: [0], surplus: [], single: [], crowded: [] });
  }
});

Deno.test("`replicaStatuses()` leaves out counters of zero, and has the selector of elastic workers", () => {
  const run = v1Run("TFJob", { PS: 1, Worker: 3 });
  const pods = podsIn(run, {
    PS: [WAITS],
    Worker: [RUNS, LOST, ["Running", undefined, "terminating"]],
  });
  assert.deepEqual(replicaStatuses(run, groupPods(run, pods)), {
    PS: {},
    Worker: { active: 1, failed: 2 },
  });
  const elastic = v1Run("PyTorchJob", { Worker: 1 }, { elasticPolicy: {} });
  assert.equal(
    replicaStatuses(elastic, groupPods(elastic, []))["Worker"]?.selector,
    "training.kubeflow.org/job-name=j,training.kubeflow.org/operator-name=pytorchjob-controller," +
      "training.kubeflow.org/replica-type=worker",
  );
});

const NOW = "2026-01-01T00:00:00Z";
const LATER = "2026-01-01T00:01:00Z";

function applied(all: readonly NewCondition[]): readonly V1Condition[] {
  return all.reduce<readonly V1Condition[]>((list, it) => withCondition(list, it, NOW), []);
}

const running: NewCondition = {
  type: "Running",
  status: "True",
  reason: "TFJobRunning",
  message: "TFJob ns/j is running.",
};
const sketch = (list: readonly V1Condition[]) =>
  list.map(({ type, status }) => `${type}=${status}`);

Deno.test("`withCondition()` keeps the order that State shows, through suspension and resumption", () => {
  const run = v1Run("PyTorchJob", { Master: 1 });
  const created = { ...running, type: "Created", reason: "PyTorchJobCreated" } as const;
  const suspended = applied([created, running, ...suspendedConditions(run)]);
  assert.deepEqual(sketch(suspended), ["Created=True", "Running=False", "Suspended=True"]);
  assert.equal(suspended[1]?.reason, "PyTorchJobSuspended");
  const resumed = withCondition(suspended, resumedCondition(run), LATER);
  assert.deepEqual(sketch(withCondition(resumed, running, LATER)), [
    "Created=True",
    "Suspended=False",
    "Running=True",
  ]);
});

Deno.test("`withCondition()` leaves the same status and reason untouched, whatever the message", () => {
  const list = applied([running]);
  assert.equal(withCondition(list, { ...running, message: "other" }, LATER), list);
});

Deno.test("`withCondition()` turns Running and Restarting off at the end, and changes nothing after a failure", () => {
  const restarting = { ...running, type: "Restarting", reason: "TFJobRestarting" } as const;
  assert.deepEqual(sketch(applied([running, restarting])), ["Restarting=True"]);
  const failed = { ...running, type: "Failed", reason: "TFJobFailed" } as const;
  const list = applied([restarting, failed]);
  assert.deepEqual(sketch(list), ["Restarting=False", "Failed=True"]);
  assert.equal(withCondition(list, { ...running, type: "Succeeded" }, LATER), list);
});

Deno.test("`withCondition()` never has two of a type, nor Running beside Restarting", () => {
  const types = fc.constantFrom(
    "Created",
    "Running",
    "Restarting",
    "Suspended",
    "Succeeded" as const,
  );
  const one = fc.record({
    type: types,
    status: fc.constantFrom("True", "False" as const),
    reason: fc.constantFrom("A", "B"),
    message: fc.constant("m"),
  });
  fc.assert(fc.property(fc.array(one, { maxLength: 12 }), (all) => {
    const list = applied(all);
    const names = list.map(({ type }) => type);
    assert.equal(new Set(names).size, names.length);
    const on = list.filter(({ status }) => status === "True").map(({ type }) => type);
    assert.ok(!(on.includes("Running") && on.includes("Restarting")));
  }));
});

function limitOf(
  runPolicy: Readonly<Record<string, unknown>>,
  restarts: number,
  { recreations = 0, nowMs = Date.parse(NOW), pods = 4 } = {},
) {
  const job = v1Job("TFJob", { Worker: { replicas: 4, restartPolicy: "OnFailure" } }, {
    runPolicy,
  });
  const run = {
    ...v1Run("TFJob", { Worker: { replicas: 4, restartPolicy: "OnFailure" } }),
    spec: job.spec,
    status: { startTime: NOW },
  };
  const all = podsIn(run, { Worker: Array.from({ length: pods }, () => RUNS) });
  for (const { status } of all) {
    for (const it of status?.containerStatuses ?? []) it.restartCount = restarts;
  }
  return reachedLimit(run, { pods: all, byType: groupPods(run, all), recreations, nowMs });
}

Deno.test("`reachedLimit()` counts restarts in place against the back-off limit", () => {
  const text = "Job j has failed because it has reached the specified backoff limit";
  assert.equal(limitOf({ backoffLimit: 4 }, 1), text);
  assert.equal(limitOf({ backoffLimit: 5 }, 1), undefined);
  assert.equal(limitOf({ backoffLimit: 0 }, 0), undefined);
  assert.equal(limitOf({ backoffLimit: 0 }, 1), text);
  assert.equal(limitOf({}, 100), undefined);
});

Deno.test("`reachedLimit()` ends a job that was active for too long, at its very deadline", () => {
  const text = "Job j has failed because it was active longer than specified deadline";
  const start = Date.parse(NOW);
  assert.equal(limitOf({ activeDeadlineSeconds: 2 }, 0, { nowMs: start + 1999 }), undefined);
  assert.equal(limitOf({ activeDeadlineSeconds: 2 }, 0, { nowMs: start + 2000 }), text);
  assert.equal(limitOf({ activeDeadlineSeconds: 0 }, 0, { nowMs: start }), text);
});

Deno.test("`reachedLimit()` counts pods that were made again, if one more has failed", () => {
  const policy = { replicas: 2, restartPolicy: "OnFailure" };
  const run = { ...v1Run("TFJob", { Worker: policy }, { runPolicy: { backoffLimit: 1 } }) };
  const pods = podsIn(run, { Worker: [RUNS, LOST] });
  const activity = { pods, byType: groupPods(run, pods), nowMs: 0 };
  assert.equal(reachedLimit(run, { ...activity, recreations: 0 }), undefined);
  assert.match(reachedLimit(run, { ...activity, recreations: 1 }) ?? "", /backoff limit$/);
});

const KNOWN: Record<string, {
  counted: NonNullable<V1Status["replicaStatuses"]>;
  failed: number;
  ends: boolean;
}> = {
  "that fails first": { counted: {}, failed: 1, ends: true },
  "that fails first beside one that runs": {
    counted: { Worker: { active: 2 } },
    failed: 1,
    ends: true,
  },
  "whose failure is known": { counted: { Worker: { failed: 1 } }, failed: 1, ends: false },
  "that fails after a known one": { counted: { Worker: { failed: 1 } }, failed: 2, ends: true },
};

for (const [what, { counted, failed, ends }] of Object.entries(KNOWN)) {
  Deno.test(`\`reachedLimit()\` with a limit of 0 and a dynamic worker ${what}`, () => {
    const spec = { enableDynamicWorker: true, runPolicy: { backoffLimit: 0 } };
    const run = {
      ...v1Run("TFJob", { Worker: { replicas: 3, restartPolicy: "Never" } }, spec),
      status: { replicaStatuses: counted },
    };
    const pods = podsIn(run, { Worker: [RUNS, ...Array.from({ length: failed }, () => LOST)] });
    const activity = { pods, byType: groupPods(run, pods), recreations: 0, nowMs: 0 };
    assert.equal(reachedLimit(run, activity) !== undefined, ends);
  });
}

const CLEANED: readonly (readonly [string | undefined, number])[] = [
  [undefined, 0],
  ["None", 0],
  ["Running", 2],
  ["All", 3],
  ["whatever", 3],
];

for (const [cleanPodPolicy, want] of CLEANED) {
  Deno.test(`\`podsToClean()\` deletes ${want} of three pods under ${cleanPodPolicy}`, () => {
    const run = v1Run("TFJob", { Worker: 3 }, { runPolicy: { cleanPodPolicy } });
    const pods = podsIn(run, { Worker: [RUNS, WAITS, DONE] });
    assert.equal(podsToClean(run, pods).length, want);
  });
}
