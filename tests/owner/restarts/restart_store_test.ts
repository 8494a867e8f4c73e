/** Tests of the store of restarts: which one is stored, and why another is not. */
import assert from "node:assert/strict";
import type { AnyJob } from "../../../crds/job_kind.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import type { JobRestart } from "../../../crds/job_restart.ts";
import { fieldText, restartOf } from "../../../crds/job_state.ts";
import { ANNOTATIONS } from "../../../crds/names.ts";
import { V1_JOB_KINDS } from "../../../crds/v1/v1_job_kinds.ts";
import type { WatchedPod } from "../../../crds/watched.ts";
import { type AskedRestart, restartStep } from "../../../owner/restarts/restart_decision.ts";
import { createRestartStore } from "../../../owner/restarts/restart_store.ts";
import type { KubeClient } from "../../../platform/kube/client.ts";
import { MemoryCluster } from "../../controller/memory_cluster.ts";

const PYTORCH = V1_JOB_KINDS.find(({ kind }) => kind === "PyTorchJob") ?? TRAINJOB;
const NOW = Date.parse("2026-01-01T00:10:00Z");
const TIME = "2026-01-01T00:10:00Z";
const BEFORE = "2026-01-01T00:05:00Z";
const signal = new AbortController().signal;

type Fields = { spec?: object; status?: object; metadata?: object };

const trainJob = ({ spec, status, metadata }: Fields = {}): AnyJob => ({
  apiVersion: TRAINJOB.apiVersion,
  kind: TRAINJOB.kind,
  metadata: { namespace: "ml", name: "t1", uid: "u1", resourceVersion: "7", ...metadata },
  spec: { runtimeRef: { name: "torch-distributed" }, ...spec },
  status: { state: "Running", ...status },
});

const pytorchJob = ({ spec, status, metadata }: Fields = {}): AnyJob => ({
  ...trainJob({ metadata }),
  apiVersion: PYTORCH.apiVersion,
  kind: PYTORCH.kind,
  spec: { pytorchReplicaSpecs: {}, ...spec },
  status: { conditions: [{ type: "Running", status: "True" }], ...status },
});

const condition = (type: string) => ({ conditions: [{ type, status: "True", reason: "R" }] });
const restart = (count: number, more: Partial<JobRestart> = {}): JobRestart => ({
  count,
  reason: "RestartedByUser",
  message: "it hangs",
  user: "ann",
  time: BEFORE,
  ...more,
});
const over = (count: number) => restart(count, { endTime: BEFORE, step: 3, pods: ["p0"] });

const REF = { kind: TRAINJOB, namespace: "ml", name: "t1", uid: "u1" };
const ASKED: AskedRestart = {
  job: REF,
  count: 1,
  reason: "RestartedByUser",
  message: "it hangs",
  user: "ann",
};
const FACTS = { nowMs: NOW, pods: ["p1"], isStopping: false };

Deno.test("restartStep() refuses a restart of a job that is in no state for one", async (t) => {
  const table: Readonly<
    Record<string, readonly [AnyJob | undefined, Partial<AskedRestart>, why: string, RegExp]>
  > = {
    "no job": [undefined, {}, "gone", /^TrainJob ml\/t1 is gone$/],
    "another job of its name": [trainJob({ metadata: { uid: "u2" } }), {}, "gone", /is gone$/],
    "deleting": [trainJob({ metadata: { deletionTimestamp: TIME } }), {}, "gone", /being deleted/],
    "complete": [trainJob({ status: condition("Complete") }), {}, "conflict", /it is Complete$/],
    "failed": [trainJob({ status: condition("Failed") }), {}, "conflict", /it is Failed$/],
    "finished and deleting": [
      trainJob({ status: condition("Complete"), metadata: { deletionTimestamp: TIME } }),
      {},
      "conflict",
      /has ended/,
    ],
    "suspended by its user": [trainJob({ spec: { suspend: true } }), {}, "conflict", /suspended/],
    "suspended, and resumed just now": [
      trainJob({ spec: { suspend: false }, status: condition("Suspended") }),
      {},
      "conflict",
      /suspended/,
    ],
    "a v1 job that is suspended": [
      pytorchJob({ spec: { runPolicy: { suspend: true } } }),
      { job: { ...REF, kind: PYTORCH } },
      "conflict",
      /Job ml\/t1 is suspended/,
    ],
    "stopping": [
      trainJob({ status: { stop: { reason: "Pruned", message: "m", time: TIME } } }),
      {},
      "conflict",
      /is being stopped$/,
    ],
    "not begun": [trainJob({ status: { state: "Created" } }), {}, "conflict", /has not begun/],
    "without a status": [
      trainJob({ status: { state: undefined } }),
      {},
      "conflict",
      /has not begun/,
    ],
    "in another cluster": [
      trainJob({ spec: { managedBy: "kueue.x-k8s.io/multikueue" } }),
      {},
      "elsewhere",
      /is run by kueue.x-k8s.io\/multikueue in another cluster/,
    ],
    "a v1 job in another cluster": [
      pytorchJob({ spec: { runPolicy: { managedBy: "kueue.x-k8s.io/multikueue" } } }),
      { job: { ...REF, kind: PYTORCH } },
      "elsewhere",
      /in another cluster/,
    ],
    "of another operator": [
      trainJob(),
      { job: { ...REF, kind: { ...TRAINJOB, isForeign: true } } },
      "elsewhere",
      /another operator/,
    ],
    "of another Trial than the one for which rights were checked": [
      trainJob(),
      { trialUid: "trial-1" },
      "changed",
      /another Trial/,
    ],
    "one is under way": [
      trainJob({ status: { restart: restart(1) } }),
      { count: 2 },
      "conflict",
      /being restarted already: restart 1, since 2026-01-01T00:05:00Z$/,
    ],
    "not the next one": [
      trainJob({ status: { restart: over(4) } }),
      { count: 3 },
      "conflict",
      /restart 3 is meant, and the next one is 5$/,
    ],
    "one that was never": [
      trainJob(),
      { count: 2 },
      "conflict",
      /2 is meant, and the next one is 1/,
    ],
  };
  for (const [name, [job, more, why, reason]] of Object.entries(table)) {
    await t.step(name, () => {
      const step = restartStep(job, { ...ASKED, ...more }, FACTS);
      assert.ok(step.kind === "refused", step.kind);
      assert.equal(step.why, why);
      assert.match(step.reason, reason);
    });
  }
});

Deno.test("restartStep() refuses while its rules stop a job, before that is stored", () => {
  const step = restartStep(trainJob(), ASKED, { ...FACTS, isStopping: true });
  assert.ok(step.kind === "refused" && /being stopped/.test(step.reason));
});

Deno.test("restartStep() answers a repeated request as the first one, whatever happened since", () => {
  for (
    const job of [
      trainJob({ status: { restart: restart(1) } }),
      trainJob({ status: { restart: over(1) } }),
      trainJob({ status: { restart: over(1), ...condition("Complete") } }),
      trainJob({ status: { restart: over(1) }, spec: { suspend: true } }),
      trainJob({ status: { restart: over(1) }, metadata: { deletionTimestamp: TIME } }),
    ]
  ) {
    const step = restartStep(job, { ...ASKED, message: "another one" }, FACTS);
    assert.deepEqual(step, { kind: "same", restart: restartOf(job) });
  }
});

Deno.test("restartStep() makes a whole restart, cut to its bounds", () => {
  const pods = Array.from({ length: 2000 }, (_, i) => `p${i}`);
  const budget = { spent: 1, times: [TIME], stalls: 1 };
  const asked = { ...ASKED, message: "m".repeat(2000), user: undefined, count: 5, budget };
  const step = restartStep(trainJob({ status: { restart: over(4) } }), asked, {
    ...FACTS,
    pods,
    step: 812,
  });
  assert.ok(step.kind === "write");
  assert.deepEqual(step.restart, {
    count: 5,
    reason: "RestartedByUser",
    message: "m".repeat(1023) + "…",
    time: TIME,
    step: 812,
    pods: pods.slice(0, 1024),
    budget,
  });
});

function pod(uid: string, job: string, phase: string, namespace = "ml"): WatchedPod {
  const labels = { "trainer.kubeflow.org/trainjob-name": job };
  return { metadata: { namespace, name: uid, uid, labels }, status: { phase } };
}

/** A store over a fake cluster with one job. */
function scene({ job = trainJob(), keeps = true, drops = false, before }: {
  job?: AnyJob;
  keeps?: boolean;
  drops?: boolean;
  /** What happens before a write, by its number. */
  before?: (write: number, cluster: MemoryCluster) => void;
} = {}) {
  const kind = job.kind === PYTORCH.kind ? PYTORCH : TRAINJOB;
  const cluster = new MemoryCluster();
  cluster.put(kind, job);
  const pods = [
    pod("p1", "t1", "Running"),
    pod("p2", "t1", "Pending"),
    pod("p3", "t1", "Succeeded"),
    pod("p4", "t1", "Failed"),
    pod("p5", "t2", "Running"),
    pod("p6", "t1", "Running", "other"),
  ];
  const events: string[] = [];
  let writes = 0;
  const client: Pick<KubeClient, "get" | "patch"> = {
    get: cluster.client().get,
    async patch(kind, key, patch, options) {
      before?.(++writes, cluster);
      const now = await cluster.client().patch(kind, key, patch, options);
      return drops ? kind.parse({ ...now, status: { state: "Running" } }) : now;
    },
  };
  const store = createRestartStore({
    client,
    jobs: new Map([[kind, {
      pods: {
        list: (namespace) => pods.filter(({ metadata }) => metadata?.namespace === namespace),
      },
    }]]),
    keepsProgress: () => keeps,
    isStopping: () => false,
    lastStep: () => 812,
    events: {
      record: ({ name }, { type, reason, message }) =>
        void events.push(`${name}: ${type} ${reason} ${message}`),
    },
    clock: { now: () => NOW },
    deadlineMs: 1000,
  });
  return {
    events,
    cluster,
    ask: (more: Partial<AskedRestart> = {}) =>
      store.store({ ...ASKED, job: { ...REF, kind }, ...more }, signal),
    get stored() {
      const now = cluster.peek(kind, "ml/t1");
      return now && restartOf(now);
    },
    get annotations() {
      return cluster.peek(kind, "ml/t1")?.metadata.annotations;
    },
  };
}

const STORED: JobRestart = { ...restart(1), time: TIME, step: 812, pods: ["p1", "p2"] };

Deno.test("a restart is stored once, with the pods that go, and told once", async () => {
  const world = scene();
  assert.deepEqual(await world.ask(), { kind: "stored", restart: STORED });
  assert.deepEqual(world.stored, STORED);
  assert.deepEqual(await world.ask({ user: "bob" }), { kind: "same", restart: STORED });
  assert.deepEqual(world.events, [
    "t1: Normal Restarting restart 1: RestartedByUser: it hangs (asked for by ann)",
  ]);
});

Deno.test("the next restart has nothing of the last one", async () => {
  const budget = { spent: 1, checkpoint: 3, times: [TIME], step: 3, stalls: 1 };
  const world = scene({ job: trainJob({ status: { restart: { ...over(1), budget } } }) });
  await world.ask({ count: 2, user: undefined, budget: { spent: 2, times: [TIME], stalls: 0 } });
  const { user: _, ...want } = STORED;
  assert.deepEqual(world.stored, {
    ...want,
    count: 2,
    budget: { spent: 2, times: [TIME], stalls: 0 },
  });
});

Deno.test("of two restarts at once one is stored", async () => {
  const world = scene();
  const answers = await Promise.all([world.ask(), world.ask({ user: "bob", message: "m" })]);
  assert.deepEqual(answers.map(({ kind }) => kind).sort(), ["same", "stored"]);
  assert.deepEqual(
    ...answers.map((it) => "restart" in it ? [it.restart] : []) as [unknown, unknown],
  );
  assert.equal(world.events.length, 1);
});

Deno.test("what changes after a job was read is noticed before a restart is written", async () => {
  const world = scene({
    before: (write, cluster) =>
      write === 1 && cluster.edit(TRAINJOB, "ml/t1", { spec: { suspend: true } }),
  });
  const answer = await world.ask();
  assert.ok(answer.kind === "refused" && /is suspended/.test(answer.reason));
  assert.equal(world.stored, undefined);
});

Deno.test("the restarts of the job from which one was copied are not its own", async () => {
  const annotations = { [ANNOTATIONS.restart]: fieldText("another", over(7)) };
  const copied = scene({ job: pytorchJob({ metadata: { annotations } }), keeps: false });
  assert.equal((await copied.ask({ count: 8 })).kind, "refused");
  assert.equal((await copied.ask()).kind, "stored");
  assert.equal(copied.stored?.count, 1);
});

Deno.test("a job that changes all the time is given up; nothing is told of it", async () => {
  const busy = scene({
    before: (write, cluster) =>
      void cluster.edit(TRAINJOB, "ml/t1", { metadata: { labels: { at: `${write}` } } }),
  });
  await assert.rejects(busy.ask(), /changed during each of 5 attempts/);
  assert.deepEqual(busy.events, []);
});

Deno.test("where the definition has no field, an annotation holds the restart; else it is not stored", async () => {
  const annotated = scene({ job: pytorchJob(), keeps: false });
  assert.deepEqual(await annotated.ask(), { kind: "stored", restart: { ...STORED, pods: [] } });
  const text = annotated.annotations?.[ANNOTATIONS.restart] ?? "";
  assert.deepEqual(JSON.parse(text), { ...STORED, pods: [], uid: "u1" });
  for (const annotations of [{}, { [ANNOTATIONS.restart]: text }]) {
    const dropped = scene({ job: trainJob({ metadata: { annotations } }), drops: true });
    assert.deepEqual(await dropped.ask(), { kind: "pruned" });
    assert.deepEqual(dropped.events, []);
  }
});
