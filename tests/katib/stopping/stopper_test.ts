/** Tests of stops: each part is written once, whatever fails or changes meanwhile. */
import { deepEqual, equal, rejects } from "node:assert/strict";
import { z } from "zod";
import { KINDS } from "../../../crds/kinds.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import type { Stop } from "../../../owner/observations/observations.ts";
import { jobStop, trialStop } from "../../../katib/stopping/stop_writes.ts";
import { fencedClient, FencedError } from "../../../platform/kube/leading/fence.ts";
import { createStopper } from "../../../katib/stopping/stopper.ts";
import type { ObservationPlan } from "../../../trials/plan/observation_plan.ts";
import { conflict, MemoryCluster } from "../../controller/memory_cluster.ts";
import { jobOf, jobSetOf, NOW, trial } from "../trials/builders.ts";

const TRIAL = trial();
const JOB = jobOf(TRIAL);

const PLAN: ObservationPlan = {
  kind: "plan",
  key: { kind: "trial", namespace: "ml", name: "t1", uid: "uid-of-t1" },
  job: { kind: TRAINJOB, namespace: "ml", name: "t1", uid: "uid-of-job-t1" },
  objective: { name: "loss", type: "minimize", additional: ["accuracy"] },
  records: "named",
  rules: [],
  graceMs: 0,
};
const STOP: Stop = {
  plan: PLAN,
  decision: {
    reason: "RulesMet",
    time: "2026-01-01T00:00:00.000000Z",
    message: "loss 0.9 is greater than 0.5, at report 3",
    graceMs: 0,
  },
  observation: [{ name: "loss", min: "0.9", max: "1.5", latest: "0.9" }],
};
/** The same of a job without a trial. */
const OF_JOB: Stop = {
  ...STOP,
  plan: { ...PLAN, key: { ...PLAN.job, kind: "job" } },
};

class World {
  readonly cluster = new MemoryCluster();
  readonly events: string[] = [];
  readonly fence = { stands: true, signal: new AbortController().signal };

  constructor() {
    this.cluster.put(KINDS.trial, TRIAL);
    this.cluster.put(KINDS.trainJob, JOB);
  }

  /** A stopper of a new process. */
  stopper() {
    return createStopper({
      client: fencedClient(this.cluster.client(), this.fence),
      clock: { now: () => NOW + 60_000 },
      events: {
        record: ({ kind, name }, { type, reason, message }) =>
          void this.events.push(`${kind} ${name}: ${type} ${reason} ${message}`),
      },
      deadlineMs: 1000,
    });
  }

  get trial() {
    return this.cluster.peek(KINDS.trial, "ml/t1");
  }

  get job() {
    return this.cluster.peek(KINDS.trainJob, "ml/t1");
  }

  /** Conditions of the Trial, in their order. */
  get trialConditions() {
    return this.trial?.status?.conditions?.map(({ type, status, reason }) =>
      `${type}=${status}/${reason}`
    );
  }

  get jobConditions() {
    return this.job?.status?.conditions?.map(({ type, status, reason, message }) =>
      `${type}=${status}/${reason}: ${message}`
    );
  }

  end(kind: "trial" | "job", type: string, status = "True"): void {
    const times = {
      lastUpdateTime: "2026-01-01T00:00:30Z",
      lastTransitionTime: "2026-01-01T00:00:30Z",
    };
    const condition = { type, status, reason: "R", message: "m", ...times };
    const old = (kind === "trial" ? this.trial : this.job)?.status?.conditions ?? [];
    const body = { status: { conditions: [...old, condition] } };
    if (kind === "trial") this.cluster.edit(KINDS.trial, "ml/t1", body);
    else this.cluster.edit(KINDS.trainJob, "ml/t1", body);
  }
}

const signal = new AbortController().signal;

const TRIAL_STOPPED = [
  "Created=True/TrialCreated",
  "Running=True/TrialRunning",
  "EarlyStopped=True/TrialEarlyStopped",
];
const JOB_STOPPED = [
  "EarlyStopped=True/RulesMet: loss 0.9 is greater than 0.5, at report 3",
  "Complete=True/EarlyStopped: loss 0.9 is greater than 0.5, at report 3",
];
const AT_ONCE = "; stopped at once, as no annotation " +
  "trainer.kubeflow.org/early-stopping-grace gives it time to save";
const TOLD = ["Trial", "TrainJob"].map((kind) =>
  `${kind} t1: Normal EarlyStopped stopped early: loss 0.9 is greater than 0.5, at report 3${AT_ONCE}`
);

Deno.test("`stop()` after a grace does not say that there was none", async () => {
  const world = new World();
  const decision = { ...STOP.decision, graceMs: 5_000 };
  equal(await world.stopper().stop({ ...STOP, decision }, signal), "stopped");
  deepEqual(world.events, TOLD.map((it) => it.replace(AT_ONCE, "")));
});

const suspended = { type: "Suspended", status: "True", reason: "R", message: "m" } as const;
const graces: Record<string, { decision: object; conditions?: unknown[]; want: string[] }> = {
  "what is left of a grace by rules": {
    decision: { graceMs: 90_000 },
    want: ["30s left: RulesMet: loss 0.9 is greater than 0.5, at report 3"],
  },
  "who asked for the stop": {
    decision: { graceMs: 90_000, user: "alice", reason: "Pruned", message: "too slow" },
    want: ["30s left: Pruned: too slow (asked for by alice)"],
  },
  "who asked for the stop, once": {
    decision: { graceMs: 90_000, user: "alice", reason: "Pruned", message: "asked for by alice" },
    want: ["30s left: Pruned: asked for by alice"],
  },
  "nothing of a grace that is over": { decision: { graceMs: 60_000 }, want: [] },
  "nothing of a job that is suspended": {
    decision: { graceMs: 90_000 },
    conditions: [suspended],
    want: [],
  },
};
for (const [what, { decision, conditions, want }] of Object.entries(graces)) {
  Deno.test(`\`store()\` tells once ${what}`, async () => {
    const world = new World();
    if (conditions) world.cluster.edit(KINDS.trainJob, "ml/t1", { status: { conditions } });
    const decided = { job: PLAN.job, decision: { ...STOP.decision, ...decision } };
    const stopper = world.stopper();
    for (let times = 0; times < 2; times++) {
      equal((await stopper.store(decided, PLAN.key, signal)).kind, "stored");
    }
    deepEqual(world.events, want.map((it) => `TrainJob t1: Normal Stopping ${it}`));
  });
}

function assertStopped(world: World): void {
  deepEqual(world.trialConditions, TRIAL_STOPPED);
  deepEqual(world.jobConditions, JOB_STOPPED);
  deepEqual(world.trial?.status?.observation, { metrics: STOP.observation });
  equal(world.trial?.status?.completionTime, "2026-01-01T00:01:00Z");
}

Deno.test("`stop()` keeps the decision, ends the Trial in one patch, then the TrainJob, and tells on both", async () => {
  const world = new World();
  equal(await world.stopper().stop(STOP, signal), "stopped");
  assertStopped(world);
  deepEqual(world.events, TOLD);
  deepEqual(world.cluster.writes.map(({ kind, subresource }) => [kind, subresource]), [
    ["TrainJob", "status"],
    ["Trial", "status"],
    ["TrainJob", "status"],
  ]);
  const last = world.trial?.status?.conditions?.at(-1);
  equal(last?.message, "Trial is early stopped");
  equal(last?.lastTransitionTime, "2026-01-01T00:01:00Z");
  equal(last?.lastUpdateTime, "2026-01-01T00:01:00Z");
  equal(world.trial?.status?.startTime, "2026-01-01T00:00:00Z");
});

Deno.test("`stop()` halts the pods of a trial's job before Katib can see the Trial's end", async () => {
  const world = new World();
  world.cluster.put(KINDS.jobSet, jobSetOf(JOB));
  equal(await world.stopper().stop(STOP, signal), "stopped");
  assertStopped(world);
  deepEqual(world.cluster.writes.map(({ kind, subresource }) => [kind, subresource]), [
    ["TrainJob", "status"],
    ["JobSet", undefined],
    ["Trial", "status"],
    ["TrainJob", "status"],
  ]);
  equal(world.cluster.peek(KINDS.jobSet, "ml/t1")?.spec?.suspend, true);
});

Deno.test("`stop()` whose decision cannot be kept has the Trial's end on its way before it halts the pods", async () => {
  const world = new World();
  world.cluster.put(KINDS.jobSet, jobSetOf(JOB));
  let refusals = 0;
  world.cluster.faults.push(({ verb, kind }, phase) =>
    verb === "patch" && kind === "TrainJob" && phase === "before" && ++refusals === 1
      ? new Error("the webhook does not answer")
      : undefined
  );
  equal(await world.stopper().stop(STOP, signal), "stopped");
  assertStopped(world);
  deepEqual(world.cluster.writes.map(({ kind }) => kind), [
    "TrainJob",
    "Trial",
    "JobSet",
    "TrainJob",
  ]);
  deepEqual(world.events, TOLD);
});

Deno.test("`stop()` leaves a job to Katib that ends while the decision is to be kept", async () => {
  const world = new World();
  world.cluster.put(KINDS.jobSet, jobSetOf(JOB));
  let reads = 0;
  world.cluster.faults.push(({ verb, kind }, phase) => {
    if (verb === "get" && kind === "TrainJob" && phase === "after" && ++reads === 1) {
      world.end("job", "Complete");
    }
    return undefined;
  });
  equal(await world.stopper().stop(STOP, signal), "finished before");
  deepEqual(world.trialConditions, TRIAL_STOPPED.slice(0, 2));
  deepEqual(world.cluster.writes, []);
  equal(world.cluster.peek(KINDS.jobSet, "ml/t1")?.spec?.suspend, false);
});

Deno.test("`stop()` leaves the JobSet of another owner alone", async () => {
  const world = new World();
  world.cluster.put(KINDS.jobSet, jobSetOf(jobOf(TRIAL, { uid: "another" })));
  equal(await world.stopper().stop(STOP, signal), "stopped");
  assertStopped(world);
  equal(world.cluster.peek(KINDS.jobSet, "ml/t1")?.spec?.suspend, false);
});

Deno.test("`stop()` is done although the pods cannot be halted", async () => {
  const world = new World();
  world.cluster.put(KINDS.jobSet, jobSetOf(JOB));
  world.cluster.faults.push(({ verb, kind }) =>
    verb === "patch" && kind === "JobSet" ? new Error("the webhook does not answer") : undefined
  );
  equal(await world.stopper().stop(STOP, signal), "stopped");
  assertStopped(world);
  deepEqual(world.events, TOLD);
});

for (const end of ["Succeeded", "Failed"]) {
  Deno.test(`\`stop()\` halts no pods of a trial that has ended before: ${end}`, async () => {
    const world = new World();
    world.cluster.put(KINDS.jobSet, jobSetOf(JOB));
    world.end("trial", end);
    equal(await world.stopper().stop(STOP, signal), "finished before");
    deepEqual(world.cluster.writes, []);
  });
}

Deno.test("`stop()` writes nothing, and tells nothing, when it is asked again", async () => {
  const world = new World();
  const stopper = world.stopper();
  await stopper.stop(STOP, signal);
  equal(await stopper.stop(STOP, signal), "stopped");
  equal(await world.stopper().stop(STOP, signal), "stopped");
  equal(world.cluster.writes.length, 3);
  deepEqual(world.events, TOLD);
});

Deno.test("`stop()` of a job without a trial touches no Trial", async () => {
  const world = new World();
  equal(await world.stopper().stop(OF_JOB, signal), "stopped");
  deepEqual(world.jobConditions, JOB_STOPPED);
  deepEqual(world.trialConditions, TRIAL_STOPPED.slice(0, 2));
  deepEqual(world.events, TOLD.slice(1));
});

Deno.test("the decision that the status holds is the one that ends the job, and is not written over", () => {
  const stored = {
    reason: "StoppedByUser",
    message: "enough",
    time: "2025-12-31T23:59:00.000000Z",
    user: "ann",
    graceSeconds: 30,
  };
  const held = { ...JOB, status: { ...JOB.status, stop: stored } };
  const bodies = [held, JOB].map((job) => {
    const write = jobStop(TRAINJOB, job, STOP.decision, NOW + 60_000);
    equal(write.kind, "patch");
    return z.object({
      status: z.object({
        stop: z.object({ reason: z.string(), message: z.string() }).optional(),
        conditions: z.array(z.object({ type: z.string(), message: z.string().optional() })),
      }),
    }).parse(write.kind === "patch" ? write.body : undefined).status;
  });
  const [ofHeld, ofNone] = bodies;
  equal(ofHeld?.stop, undefined);
  deepEqual(ofHeld?.conditions.map(({ message }) => message), ["enough", "enough"]);
  deepEqual(ofNone?.stop, { reason: STOP.decision.reason, message: STOP.decision.message });
});

for (const when of ["before", "after"] as const) {
  for (const n of [2, 3]) {
    Deno.test(`\`stop()\` is done once by another owner when killed ${when} write ${n}`, async () => {
      const world = new World();
      let writes = 0;
      world.cluster.faults.push(({ verb }, phase) =>
        verb === "patch" && phase === when && ++writes === n ? new Error("killed") : undefined
      );
      await rejects(world.stopper().stop(STOP, signal), /killed/);
      equal(await world.stopper().stop(STOP, signal), "stopped");
      assertStopped(world);
      // An owner that is killed between the last write and the event records none; no owner records it twice.
      const isLast = when === "after" && n === 3;
      deepEqual(world.events, isLast ? [] : TOLD);
    });

    Deno.test(`\`stop()\` is done and told once when the answer to write ${n} is lost ${when} it`, async () => {
      const world = new World();
      let writes = 0;
      world.cluster.faults.push(({ verb }, phase) =>
        verb === "patch" && phase === when && ++writes === n ? new Error("no answer") : undefined
      );
      const stopper = world.stopper();
      await rejects(stopper.stop(STOP, signal), /no answer/);
      equal(await stopper.stop(STOP, signal), "stopped");
      assertStopped(world);
      deepEqual(world.events, TOLD);
    });
  }
}

for (const n of [1, 2, 3]) {
  Deno.test(`\`stop()\` looks anew when write ${n} is refused, since somebody was faster`, async () => {
    const world = new World();
    let writes = 0;
    world.cluster.faults.push(({ verb }, phase) =>
      verb === "patch" && phase === "before" && ++writes === n ? conflict("t1") : undefined
    );
    equal(await world.stopper().stop(STOP, signal), "stopped");
    assertStopped(world);
    deepEqual(world.events, TOLD);
  });
}

Deno.test("`stop()` writes over progress and labels that are written at the same time", async () => {
  const world = new World();
  let version = 0;
  world.cluster.faults.push(({ verb }, phase) => {
    if (verb !== "patch" || phase !== "before" || ++version > 3) return undefined;
    const labels = { v: String(version) };
    world.cluster.edit(KINDS.trial, "ml/t1", { metadata: { labels } });
    const trainerStatus = { progressPercentage: version, lastUpdatedTime: "2026-01-01T00:00:00Z" };
    world.cluster.edit(KINDS.trainJob, "ml/t1", { status: { trainerStatus } });
    return undefined;
  });
  equal(await world.stopper().stop(STOP, signal), "stopped");
  assertStopped(world);
  equal(world.job?.status?.trainerStatus?.progressPercentage, 3);
});

Deno.test("`stop()` gives way, and says so, when it never gets its turn", async () => {
  const world = new World();
  let version = 0;
  world.cluster.faults.push(({ verb }, phase) => {
    if (verb !== "patch" || phase !== "before") return undefined;
    world.cluster.edit(KINDS.trial, "ml/t1", { metadata: { labels: { v: String(++version) } } });
    return undefined;
  });
  await rejects(world.stopper().stop(STOP, signal), /ml\/t1 or its Trial changed/);
});

Deno.test("`stop()` by two owners at the same time is written once and told once", async () => {
  const world = new World();
  const outcomes = await Promise.all([
    world.stopper().stop(STOP, signal),
    world.stopper().stop(STOP, signal),
  ]);
  deepEqual(outcomes, ["stopped", "stopped"]);
  assertStopped(world);
  deepEqual(world.events, TOLD);
});

Deno.test("`stop()` tells nothing where another owner wrote the last of it", async () => {
  const world = new World();
  let isFirst = true;
  world.cluster.faults.push(({ verb, kind }, phase) => {
    if (verb === "patch" && kind === "TrainJob" && phase === "before" && isFirst) {
      isFirst = false;
      world.end("job", "EarlyStopped");
      world.end("job", "Complete");
    }
    return undefined;
  });
  equal(await world.stopper().stop(STOP, signal), "stopped");
  deepEqual(world.events, []);
});

for (const end of ["Succeeded", "Failed", "Killed", "MetricsUnavailable"]) {
  Deno.test(`\`stop()\` leaves a trial alone that has ended before: ${end}`, async () => {
    const world = new World();
    world.end("trial", end);
    equal(await world.stopper().stop(STOP, signal), "finished before");
    deepEqual(world.cluster.writes, []);
    deepEqual(world.events, []);
  });
}

Deno.test("`stop()` leaves a trial alone that ends while the stop is on its way", async () => {
  const world = new World();
  let isFirst = true;
  world.cluster.faults.push(({ verb }, phase) => {
    if (verb === "patch" && phase === "before" && isFirst) {
      isFirst = false;
      world.end("trial", "Succeeded");
    }
    return undefined;
  });
  equal(await world.stopper().stop(STOP, signal), "finished before");
  deepEqual(world.trialConditions?.at(-1), "Succeeded=True/R");
  equal(world.jobConditions, undefined);
  deepEqual(world.events, []);
});

Deno.test("`stop()` keeps the job's own end that comes between its two writes", async () => {
  const world = new World();
  let isFirst = true;
  world.cluster.faults.push(({ verb, kind }, phase) => {
    const isEnding = world.trialConditions?.length === TRIAL_STOPPED.length;
    if (verb === "patch" && kind === "TrainJob" && phase === "before" && isEnding && isFirst) {
      isFirst = false;
      world.end("job", "Complete");
    }
    return undefined;
  });
  equal(await world.stopper().stop(STOP, signal), "stopped");
  deepEqual(world.trialConditions, TRIAL_STOPPED);
  deepEqual(world.jobConditions, ["Complete=True/R: m"]);
  deepEqual(world.events, TOLD);
});

for (const [sentence, stop] of [["a trial", STOP], ["a job without one", OF_JOB]] as const) {
  for (const end of ["Complete", "Failed"]) {
    Deno.test(`\`stop()\` of ${sentence} leaves a job alone that has ended before: ${end}`, async () => {
      const world = new World();
      world.end("job", end);
      equal(await world.stopper().stop(stop, signal), "finished before");
      deepEqual(world.cluster.writes, []);
    });
  }
}

Deno.test("`stop()` takes an end that says False for none", async () => {
  const world = new World();
  world.end("trial", "EarlyStopped", "False");
  world.end("job", "Complete", "False");
  equal(await world.stopper().stop(STOP, signal), "stopped");
  deepEqual(world.trialConditions, TRIAL_STOPPED);
  deepEqual(world.jobConditions?.map((it) => it.split("/")[0]), [
    "Complete=True",
    "EarlyStopped=True",
  ]);
});

Deno.test("`stop()` keeps the observation when Katib deletes the job at once", async () => {
  const world = new World();
  world.cluster.faults.push(({ kind }, phase) => {
    if (kind === "Trial" && phase === "after" && world.trial?.status?.observation) {
      world.cluster.remove(KINDS.trainJob, "ml/t1");
    }
    return undefined;
  });
  equal(await world.stopper().stop(STOP, signal), "stopped");
  equal(world.job, undefined);
  deepEqual(world.trialConditions, TRIAL_STOPPED);
  deepEqual(world.trial?.status?.observation, { metrics: STOP.observation });
  deepEqual(world.events, TOLD.slice(0, 1));
});

Deno.test("`stop()` keeps parts of the Trial's status that it does not know", async () => {
  const world = new World();
  world.cluster.edit(KINDS.trial, "ml/t1", { status: { later: { kept: true } } });
  await world.stopper().stop(STOP, signal);
  deepEqual(world.trial?.status?.later, { kept: true });
});

Deno.test("`stop()` without rows leaves the observation empty", async () => {
  const world = new World();
  await world.stopper().stop({ ...STOP, observation: [] }, signal);
  equal(world.trial?.status?.observation, undefined);
  deepEqual(world.trialConditions, TRIAL_STOPPED);
});

const GONE: Record<string, (world: World) => void> = {
  "the Trial is gone": (world) => world.cluster.remove(KINDS.trial, "ml/t1"),
  "the Trial is another of the same name": (world) => {
    world.cluster.remove(KINDS.trial, "ml/t1");
    world.cluster.put(KINDS.trial, trial({}, { uid: "another" }));
  },
  "the job is gone": (world) => world.cluster.remove(KINDS.trainJob, "ml/t1"),
  "the job is another of the same name": (world) => {
    world.cluster.remove(KINDS.trainJob, "ml/t1");
    world.cluster.put(KINDS.trainJob, jobOf(TRIAL, { uid: "another" }));
  },
  "the Trial is on its way out": (world) =>
    void world.cluster.edit(KINDS.trial, "ml/t1", {
      metadata: { deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["clean-metrics-in-db"] },
    }),
};
for (const [sentence, change] of Object.entries(GONE)) {
  Deno.test(`\`stop()\` has nothing to stop if ${sentence}`, async () => {
    const world = new World();
    change(world);
    equal(await world.stopper().stop(STOP, signal), "gone");
    deepEqual(world.cluster.writes, []);
    deepEqual(world.events, []);
  });
}

Deno.test("`stop()` writes nothing after it lost the lease", async () => {
  const world = new World();
  world.fence.stands = false;
  await rejects(world.stopper().stop(STOP, signal), FencedError);
  deepEqual(world.cluster.writes, []);
});

Deno.test("`trialStop()` keeps all conditions, also beside an invalid one", () => {
  const odd = [{ type: "Weird" }, null, { type: "Odd", status: "True", lastUpdateTime: null }];
  const of = (...conditions: unknown[]) =>
    trialStop(KINDS.trial.parse({ ...TRIAL, status: { conditions } }), STOP, NOW);
  const ended = { type: "Succeeded", status: "True" };
  deepEqual(of(ended, ...odd), { kind: "finished" });
  deepEqual(of(...odd, { ...ended, type: "EarlyStopped" }), { kind: "done" });
  const running = { type: "Running", status: "True" };
  const write = of(odd[0], running, { type: "EarlyStopped", status: "False" }, odd[1], odd[2]);
  equal(write.kind, "patch");
  const { status } = z.object({
    status: z.object({ conditions: z.array(z.looseObject({ type: z.string() }).nullable()) }),
  }).parse(write.kind === "patch" ? write.body : undefined);
  deepEqual(status.conditions.slice(0, -1), [odd[0], running, odd[1], odd[2]]);
  equal(status.conditions.at(-1)?.type, "EarlyStopped");
});
