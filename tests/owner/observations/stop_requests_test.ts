/** Tests of requests to stop jobs at the owner: stored first, done once by whichever owner, for jobs of all kinds. */
import assert from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { jobRefOf } from "../../../crds/job_kind.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import type { TrainJob } from "../../../crds/trainjob.ts";
import type { Trial } from "../../../crds/trial.ts";
import { WATCHED } from "../../../crds/watched.ts";
import type { StopAnswer } from "../../../crds/wire/stop_request.ts";
import type { StopRequest } from "../../../owner/observations/observations.ts";
import type { PushAnswer } from "../../../crds/wire/push_answer.ts";
import { createObservations } from "../../../owner/observations/term_observations.ts";
import { createMemorySink } from "../../../katib/log/sqlite_sink.ts";
import { SinkError } from "../../../owner/observations/sink.ts";
import { createStopper } from "../../../katib/stopping/stopper.ts";
import { trialIndexes } from "../../../katib/trials/cached_trial.ts";
import { createPlanCache } from "../../../katib/trials/plan_cache.ts";
import { MemoryCluster } from "../../controller/memory_cluster.ts";
import { FakeClock, settlePromises } from "../../support/fake_clock.ts";
import { jobOf, jobSetOf, NOW, trial } from "../../katib/trials/builders.ts";

const never = new AbortController().signal;
const GRACE = "trainer.kubeflow.org/early-stopping-grace";
const LABELS = {
  "batch.kubernetes.io/job-completion-index": "0",
  "jobset.sigs.k8s.io/replicatedjob-name": "node",
};
const POD = { name: "t1-node-0-0", uid: "uid-of-pod" };

/** A cluster, a log and a clock, which outlive every owner. */
class World {
  readonly cluster = new MemoryCluster();
  readonly clock = new FakeClock(NOW, () => settlePromises(200));
  readonly sink = createMemorySink();
  readonly events: string[] = [];
  readonly lives: Life[] = [];
  /** Whether the API server drops `status.stop`, as one with upstream's definition does. */
  prunes = false;
  sinkIsDown = false;

  constructor(of: Trial | undefined = trial(), job: TrainJob = jobOf(of)) {
    if (of) this.cluster.put(KINDS.trial, of);
    this.cluster.put(KINDS.trainJob, job);
    this.cluster.put(KINDS.jobSet, jobSetOf(job));
    const { name = "" } = job.metadata;
    this.cluster.put(
      KINDS.pod,
      KINDS.pod.parse({
        apiVersion: "v1",
        kind: "Pod",
        metadata: { ...POD, namespace: "ml", labels: { ...LABELS, "x": name } },
        spec: { containers: [{ name: "node" }] },
      }),
    );
    this.key = `ml/${name}`;
  }

  readonly key: string;

  get job() {
    const job = this.cluster.peek(KINDS.trainJob, this.key);
    if (job === undefined) throw new Error("the job is gone");
    return job;
  }

  get trial() {
    return this.cluster.peek(KINDS.trial, "ml/t1");
  }

  get ends() {
    return this.job.status?.conditions?.map(({ type, reason, message }) =>
      `${type} ${reason}: ${message}`
    );
  }

  /** A new owner; it dies before or after its n-th call to the API server, if one is named. */
  owner(killAt = Infinity, when: "before" | "after" = "after"): Life {
    const life = createLife(this, killAt, when);
    this.lives.push(life);
    return life;
  }

  edit(body: unknown): void {
    this.cluster.edit(KINDS.trainJob, this.key, body);
  }

  async end(): Promise<void> {
    for (const life of this.lives) await life.end();
  }
}

function createLife(world: World, killAt: number, when: "before" | "after") {
  const { cluster, clock, sink } = world;
  const dead = Promise.withResolvers<never>();
  dead.promise.catch(() => {});
  const over = new AbortController();
  let isDead = false;
  let calls = 0;
  const kill = () => {
    isDead = true;
    dead.reject(new Error("killed"));
    over.abort();
  };
  async function call<T>(work: () => Promise<T>): Promise<T> {
    const isLast = calls++ === killAt;
    if (isLast && when === "before") kill();
    if (isDead) return await dead.promise;
    const result = await work();
    if (isLast) kill();
    return isDead ? await dead.promise : result;
  }
  const inner = cluster.client();
  const client: typeof inner = {
    ...inner,
    get: (...all) => call(() => inner.get(...all)),
    patch: (kind, key, patch, options) =>
      call(async () => {
        const patched = await inner.patch(kind, key, patch, options);
        if (world.prunes && kind.kind === "TrainJob") world.edit({ status: { stop: null } });
        return patched;
      }),
  };
  const trials = cluster.informer(WATCHED.trial, trialIndexes);
  const plans = createPlanCache({
    jobs: new Map([[TRAINJOB, {
      jobs: cluster.informer(WATCHED.trainJob),
      pods: cluster.informer(WATCHED.pod),
    }]]),
    jobSets: cluster.informer(KINDS.jobSet),
    trials: { get: trials.get, byIndex: trials.byIndex, resting: false, wake: () => {} },
    client: inner,
    settings: () => ({
      adopted: new Set(),
      namesOnly: false,
      keepsPlainJobs: true,
      keepsSteps: true,
    }),
    notify: () => {},
    deadlineMs: 1000,
    clock,
  });
  const leading = () => !isDead;
  const observations = createObservations({
    sink: {
      ...sink,
      read: (...all) =>
        world.sinkIsDown ? Promise.reject(new SinkError("unavailable", "down")) : sink.read(...all),
    },
    plans,
    stopper: createStopper({
      client,
      clock,
      events: {
        record: ({ kind }, { reason, message }) =>
          void world.events.push(`${kind} ${reason} ${message}`),
      },
      deadlineMs: 1000,
    }),
    clock,
    random: () => 0.5,
    leading,
    sinkMs: 2_500,
  });
  const running = observations.run(over.signal);
  const job = jobRefOf(TRAINJOB, world.job);
  let pushes = 0;
  return {
    observations,
    get calls() {
      return calls;
    },
    get isDead() {
      return isDead;
    },
    async stop(more: Partial<StopRequest["stop"]> = {}, user = "tuner"): Promise<StopAnswer> {
      const { ownerReferences: [owner] = [] } = world.job.metadata;
      const stop = { reason: "Pruned", message: "worse than the median", ...more };
      return await observations.requestStop(
        { job, trialUid: owner?.uid ?? null, user, stop },
        never,
      );
    },
    async push(loss: string): Promise<PushAnswer | undefined> {
      const lastUpdatedTime = new Date(NOW - 60_000 + ++pushes * 1000).toISOString();
      const trainerStatus = { metrics: [{ name: "loss", value: loss }], lastUpdatedTime };
      return await observations.accept(
        { job, pod: POD, trainerStatus, receivedMs: clock.now() },
        never,
      );
    },
    settle: () => observations.settle(job, never),
    async end() {
      kill();
      await running;
    },
  };
}
type Life = ReturnType<typeof createLife>;

async function within(world: World, work: (owner: Life) => Promise<void>): Promise<void> {
  try {
    await work(world.owner());
  } finally {
    await world.end();
  }
}

const STOPPED = [
  "EarlyStopped Pruned: worse than the median",
  "Complete EarlyStopped: worse than the median",
];
const STOPPING = (left: string) =>
  `TrainJob Stopping ${left} left: Pruned: worse than the median (asked for by tuner)`;
const TOLD = "EarlyStopped stopped early: Pruned: worse than the median";
const CONTROL = {
  stop: true,
  reason: "EarlyStopped",
  message: "stopped early: Pruned: worse than the median",
};
const controlOf = (answer: PushAnswer | undefined) => answer?.ok ? answer.control : undefined;

Deno.test("a requested stop is stored, told to the pods, and done when its grace has passed", async () => {
  const world = new World();
  await within(world, async (owner) => {
    assert.equal(controlOf(await owner.push("0.4")), undefined);
    const answer = await owner.stop({ graceSeconds: 30 });
    const stop = {
      reason: "Pruned",
      message: "worse than the median",
      time: "2026-01-01T00:00:00.000Z",
      user: "tuner",
      graceSeconds: 30,
    };
    assert.deepEqual(answer, { stop });
    assert.deepEqual(world.job.status?.stop, stop);
    assert.equal(world.ends, undefined);
    assert.deepEqual(controlOf(await owner.push("0.3")), CONTROL);
    await world.clock.advance(29_000);
    assert.equal(world.ends, undefined);
    await world.clock.advance(1_500);
    assert.deepEqual(world.ends, STOPPED);
    const conditions = world.trial?.status?.conditions?.map(({ type }) => type);
    assert.deepEqual(conditions, ["Created", "Running", "EarlyStopped"]);
    assert.deepEqual(world.trial?.status?.observation?.metrics?.[0], {
      name: "loss",
      min: "0.3",
      max: "0.4",
      latest: "0.3",
    });
    assert.deepEqual(world.events, [STOPPING("30s"), `Trial ${TOLD}`, `TrainJob ${TOLD}`]);
    assert.deepEqual(await owner.stop(), { stop });
    assert.deepEqual(controlOf(await owner.push("0.2")), CONTROL);
  });
});

const jobs: Readonly<Record<string, { of?: Trial; job?: TrainJob; ends: boolean }>> = {
  "a job without a Trial": { job: jobOf(undefined), ends: false },
  "a trial whose metrics come by a collector of Katib's": {
    of: trial({ metricsCollector: { collector: { kind: "StdOut" } } }),
    ends: true,
  },
  "a job that is not that Trial's, which is left alone": {
    of: trial({ runSpec: { apiVersion: "batch/v1", kind: "Job", metadata: { name: "t1" } } }),
    job: jobOf(trial()),
    ends: false,
  },
};
for (const [what, { of, job, ends }] of Object.entries(jobs)) {
  Deno.test(`a requested stop of ${what} is told to its pods, and done`, async () => {
    const world = new World(of, job ?? jobOf(of));
    await within(world, async (owner) => {
      assert.ok("stop" in await owner.stop({ graceSeconds: 10 }));
      assert.deepEqual(controlOf(await owner.push("0.4")), CONTROL);
      await world.clock.advance(10_500);
      assert.deepEqual(world.ends, STOPPED);
      const conditions = world.trial?.status?.conditions ?? [];
      assert.equal(conditions.some(({ type }) => type === "EarlyStopped"), ends);
    });
  });
}

const graces: Readonly<Record<string, [Parameters<Life["stop"]>[0], string | undefined, number]>> =
  {
    "the request's own": [{ graceSeconds: 5, defaultGraceSeconds: 30 }, "20s", 5],
    "the annotation's": [{ defaultGraceSeconds: 30 }, "20s", 20],
    "the annotation's, also of none": [{ defaultGraceSeconds: 30 }, "0s", 0],
    "the request's default, where no annotation says one": [
      { defaultGraceSeconds: 30 },
      undefined,
      30,
    ],
    "none, where nobody says one": [{}, undefined, 0],
  };
for (const [what, [request, annotation, want]] of Object.entries(graces)) {
  Deno.test(`the grace of a requested stop is ${what}`, async () => {
    const metadata = annotation === undefined ? {} : { annotations: { [GRACE]: annotation } };
    await within(new World(trial({}, metadata)), async (owner) => {
      const answer = await owner.stop(request);
      assert.equal("stop" in answer && answer.stop.graceSeconds, want);
    });
  });
}

Deno.test("without a grace in the request the annotation's holds, and none stops at once", async () => {
  const annotations = { [GRACE]: "20s" };
  const world = new World(trial({}, { annotations }));
  await within(world, async (owner) => {
    const answer = await owner.stop();
    assert.equal("stop" in answer && answer.stop.graceSeconds, 20);
    await world.clock.advance(19_000);
    assert.equal(world.ends, undefined);
    await world.clock.advance(1_500);
    assert.deepEqual(world.ends, STOPPED);
  });
  const other = new World();
  await within(other, async (owner) => {
    await owner.stop();
    await other.clock.advance(10);
    assert.deepEqual(other.ends, STOPPED);
  });
});

Deno.test("the first decision wins, and a shorter grace shortens it", async () => {
  const world = new World();
  await within(world, async (owner) => {
    await owner.stop({ graceSeconds: 600 });
    const answer = await owner.stop({ reason: "Other", graceSeconds: 30 }, "another");
    assert.ok("stop" in answer);
    assert.deepEqual([answer.stop.reason, answer.stop.user, answer.stop.graceSeconds], [
      "Pruned",
      "tuner",
      30,
    ]);
    await owner.stop({ graceSeconds: 900 });
    await world.clock.advance(29_000);
    assert.equal(world.ends, undefined);
    await world.clock.advance(1_500);
    assert.deepEqual(world.ends, STOPPED);
  });
});

Deno.test("what rules decided first is stored while its grace passes, and wins over a request", async () => {
  const world = new World(trial({}, { annotations: { [GRACE]: "10m" } }));
  await within(world, async (owner) => {
    for (const loss of ["0.9", "0.8", "0.7"]) await owner.push(loss);
    await settlePromises(200);
    const message = "loss 0.7 is greater than 0.5, at report 3";
    assert.equal(world.job.status?.stop?.reason, "RulesMet");
    assert.equal(world.job.status?.stop?.message, message);
    assert.equal(world.job.status?.stop?.user, undefined);
    const answer = await owner.stop({ graceSeconds: 5 });
    assert.ok("stop" in answer);
    assert.deepEqual([answer.stop.reason, answer.stop.graceSeconds], ["RulesMet", 5]);
    await world.clock.advance(5_500);
    assert.deepEqual(world.ends, [
      `EarlyStopped RulesMet: ${message}`,
      `Complete EarlyStopped: ${message}`,
    ]);
    assert.deepEqual(world.events.at(-1), `TrainJob EarlyStopped stopped early: ${message}`);
  });
});

Deno.test("rules that are met within the grace of a request end it by theirs, with the request's reason", async () => {
  const world = new World();
  await within(world, async (owner) => {
    await owner.stop({ graceSeconds: 600 });
    for (const loss of ["0.9", "0.8", "0.7"]) await owner.push(loss);
    await world.clock.advance(100);
    assert.deepEqual(world.ends, STOPPED);
  });
});

Deno.test("a new owner asks the log what the rules have decided before it stores another decision", async () => {
  const world = new World(trial({}, { annotations: { [GRACE]: "10m" } }));
  world.prunes = true;
  const first = world.owner();
  for (const loss of ["0.9", "0.8", "0.7"]) await first.push(loss);
  await settlePromises(200);
  assert.equal(world.job.status?.stop, undefined);
  await first.end();
  world.prunes = false;
  await within(world, async (owner) => {
    world.sinkIsDown = true;
    const refused = await owner.stop();
    assert.match("retryAfterMs" in refused ? refused.reason : "", /could not be stored: down/);
    world.sinkIsDown = false;
    const answer = await owner.stop();
    assert.equal("stop" in answer && answer.stop.reason, "RulesMet");
  });
});

Deno.test("where the definition drops the field a request is refused, and rules still stop", async () => {
  const world = new World(trial({}, { annotations: { [GRACE]: "10s" } }));
  world.prunes = true;
  await within(world, async (owner) => {
    const answer = await owner.stop({ graceSeconds: 30 });
    assert.match("retryAfterMs" in answer ? answer.reason : "", /TrainJob .*drops status\.stop/);
    assert.equal(controlOf(await owner.push("0.9")), undefined);
    await world.clock.advance(60_000);
    assert.equal(world.ends, undefined);
    for (const loss of ["0.8", "0.7"]) await owner.push(loss);
    await world.clock.advance(10_500);
    const message = "loss 0.7 is greater than 0.5, at report 3";
    assert.equal(world.ends?.[0], `EarlyStopped RulesMet: ${message}`);
  });
});

Deno.test("a job that ends by itself within the grace is an early stop, also under a new owner", async () => {
  const world = new World();
  await within(world, async (owner) => {
    await owner.stop({ graceSeconds: 600 });
    await owner.end();
    await world.owner().settle();
    assert.deepEqual(world.ends, STOPPED);
  });
});

Deno.test("a suspended job has no pods that a grace would help: it is stopped at once", async () => {
  const suspended = {
    status: {
      conditions: [{
        type: "Suspended",
        status: "True",
        reason: "Suspended",
        message: "",
        lastTransitionTime: "2026-01-01T00:00:00Z",
      }],
    },
  };
  const world = new World();
  world.edit(suspended);
  await within(world, async (owner) => {
    await owner.stop({ graceSeconds: 600 });
    await world.clock.advance(10);
    assert.deepEqual(world.ends?.slice(1), STOPPED);
  });
  const other = new World();
  await within(other, async (owner) => {
    await owner.stop({ graceSeconds: 600 });
    await other.clock.advance(10);
    assert.deepEqual(other.events, [STOPPING("10m")]);
    other.edit(suspended);
    await other.clock.advance(6_000);
    assert.deepEqual(other.ends?.slice(1), STOPPED);
  });
});

const refusals: Readonly<
  Record<string, { of?: Trial; body?: unknown; want: unknown; says: RegExp }>
> = {
  "that is being deleted": {
    body: { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["x"] } },
    want: "gone",
    says: /is being deleted/,
  },
  "whose Trial is being deleted": {
    of: trial({}, { deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["x"] }),
    want: "gone",
    says: /is being deleted/,
  },
  "that MultiKueue runs elsewhere": {
    body: { spec: { managedBy: "kueue.x-k8s.io/multikueue" } },
    want: "elsewhere",
    says: /run by kueue.x-k8s.io\/multikueue in another cluster/,
  },
  "that is complete": {
    body: {
      status: {
        conditions: [{
          type: "Complete",
          status: "True",
          reason: "R",
          message: "m",
          lastTransitionTime: "2026-01-01T00:00:00Z",
        }],
      },
    },
    want: "ended",
    says: /TrainJob ml\/t1 has ended, and was not stopped early/,
  },
};
for (const [what, { of = trial(), body, want, says }] of Object.entries(refusals)) {
  Deno.test(`a stop of a job ${what} is refused, and changes nothing`, async () => {
    const world = new World(of);
    if (body !== undefined) world.edit(body);
    await within(world, async (owner) => {
      const answer = await owner.stop();
      assert.ok("refusal" in answer, JSON.stringify(answer));
      assert.equal(answer.refusal, want);
      assert.match(answer.reason, says);
      await world.clock.advance(10_000);
      assert.deepEqual(world.cluster.writes, []);
    });
  });
}

Deno.test("a stop of a job whose Trial has ended is refused", async () => {
  const world = new World();
  const ended = { type: "Succeeded", status: "True", reason: "R", message: "m" };
  world.cluster.edit(KINDS.trial, "ml/t1", { status: { conditions: [ended] } });
  await within(world, async (owner) => {
    const answer = await owner.stop();
    assert.ok("refusal" in answer);
    assert.match(answer.reason, /the Trial of TrainJob ml\/t1 has ended/);
    assert.equal(world.job.status?.stop, undefined);
  });
});

/** Asks until it is answered, by owners of which the first is killed, and waits until the job is stopped. */
async function stopThrough(killAt: number, when: "before" | "after") {
  const world = new World();
  const first = world.owner(killAt, when);
  let current = first;
  await current.push("0.4");
  for (let tries = 0;; tries++) {
    assert.ok(tries < 5, "the request is never answered");
    const answer = await current.stop({ graceSeconds: 20 });
    if (!current.isDead && "stop" in answer) {
      assert.equal(answer.stop.time, world.job.status?.stop?.time);
      break;
    }
    await current.end();
    current = world.owner();
    await world.clock.advance(1_000);
  }
  await world.clock.advance(25_000);
  if (current.isDead) {
    await current.end();
    current = world.owner();
    await world.clock.advance(25_000);
  }
  const { calls } = first;
  const wasKilled = first.isDead;
  await world.end();
  assert.deepEqual(world.ends, STOPPED);
  const conditions = world.trial?.status?.conditions?.map(({ type }) => type);
  assert.deepEqual(conditions, ["Created", "Running", "EarlyStopped"]);
  assert.equal(world.trial?.status?.observation?.metrics?.[0]?.latest, "0.4");
  assert.equal(new Set(world.events).size, world.events.length, `told twice: ${world.events}`);
  return { calls, wasKilled };
}

for (const when of ["before", "after"] as const) {
  Deno.test(`a requested stop is done once by owners of which one is killed ${when} any call`, async () => {
    const { calls } = await stopThrough(Infinity, when);
    assert.ok(calls >= 6, `${calls} calls`);
    for (let killAt = 0; killAt < calls; killAt++) {
      const { wasKilled } = await stopThrough(killAt, when);
      assert.ok(wasKilled, `call ${killAt} of ${calls} was not reached`);
    }
  });
}

const RULES = JSON.stringify({
  objective: { name: "loss", type: "minimize" },
  rules: [{ name: "loss", value: "0.5", comparison: "greater", startStep: 3 }],
});

Deno.test("a job that ends by itself within the grace is an early stop, and says that its log cannot be read", async () => {
  const job = jobOf(undefined, { annotations: { "trainer.kubeflow.org/early-stopping": RULES } });
  const world = new World(undefined, job);
  await within(world, async (owner) => {
    assert.ok("stop" in await owner.stop({ graceSeconds: 600 }));
    await owner.end();
    world.sinkIsDown = true;
    const settled = world.owner().settle();
    const problem = await settled?.then(() => undefined, (error) => error.message);
    assert.deepEqual(world.ends, STOPPED);
    assert.match(problem, /down/);
  });
});

Deno.test("what rules decided is stored when the API server answers again, and outlives the log", async () => {
  const world = new World(trial({}, { annotations: { [GRACE]: "10m" } }));
  await within(world, async (owner) => {
    world.cluster.faults.push(({ verb, kind }) =>
      verb === "patch" && kind === "TrainJob" && world.clock.now() < NOW + 20_000
        ? new Error("down")
        : undefined
    );
    for (const loss of ["0.9", "0.8", "0.7"]) await owner.push(loss);
    await settlePromises(200);
    assert.equal(world.job.status?.stop, undefined);
    await world.clock.advance(60_000);
    assert.deepEqual(world.job.status?.stop, {
      reason: "RulesMet",
      message: "loss 0.7 is greater than 0.5, at report 3",
      time: "2026-01-01T00:00:00.000Z",
      graceSeconds: 600,
    });
    assert.equal(world.ends, undefined);
  });
});

Deno.test("a new owner ends no grace of a rule early that an old sample has met", async () => {
  const world = new World(trial({}, { annotations: { [GRACE]: "30s" } }));
  await within(world, async (owner) => {
    for (const loss of ["0.9", "0.8", "0.7"]) await owner.push(loss);
    await settlePromises(200);
    assert.equal(world.job.status?.stop?.time, "2026-01-01T00:00:00.000Z");
    await owner.end();
    world.owner();
    await world.clock.advance(25_000);
    assert.equal(world.ends, undefined);
    await world.clock.advance(6_000);
    const message = "loss 0.7 is greater than 0.5, at report 3";
    assert.deepEqual(world.ends, [
      `EarlyStopped RulesMet: ${message}`,
      `Complete EarlyStopped: ${message}`,
    ]);
  });
});
