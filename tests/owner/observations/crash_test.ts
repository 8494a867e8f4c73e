/** Tests of an owner that is killed before or after each call to the log and to the API server. */
import assert from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { storedStopOf } from "../../../crds/job_state.ts";
import type { PushAnswer } from "../../../crds/wire/push_answer.ts";
import { createObservations } from "../../../owner/observations/term_observations.ts";
import { createMemorySink } from "../../../katib/log/sqlite_sink.ts";
import type { ObservationSink } from "../../../owner/observations/sink.ts";
import { createStopper } from "../../../katib/stopping/stopper.ts";
import type { ObservationPlan } from "../../../trials/plan/observation_plan.ts";
import type { KubeClient } from "../../../platform/kube/client.ts";
import { MemoryCluster } from "../../controller/memory_cluster.ts";
import { NO_RUN } from "../../../trials/recording/present_run.ts";
import { FakeClock, settlePromises } from "../../support/fake_clock.ts";
import { jobOf, jobSetOf, trial } from "../../katib/trials/builders.ts";
import { katibsLog, pushOf, trialPlan } from "./observations_fixture.ts";

type When = "before" | "after";

/** The run of the pods that push. */
const RUN = { run: "pod-t1", since: "" };
const LOSSES = ["0.9", "0.8", "0.7"];
const never = new AbortController().signal;

/** Whose log it is: Katib's keeps no runs, so that its rows count for the pods that are there. */
type Log = "our own log" | "Katib's log";

/** The cluster and the log, which outlive every owner. */
function world(log: Log) {
  const cluster = new MemoryCluster();
  const made = trial();
  cluster.put(KINDS.trial, made);
  cluster.put(KINDS.trainJob, jobOf(made));
  cluster.put(KINDS.jobSet, jobSetOf(jobOf(made)));
  const sink = log === "our own log" ? createMemorySink() : katibsLog();
  const clock = new FakeClock(undefined, () => settlePromises(200));
  return { cluster, sink, clock };
}

const PLAN: ObservationPlan = trialPlan("t1", {
  key: { kind: "trial", namespace: "ml", name: "t1", uid: "uid-of-t1" },
  job: { kind: TRAINJOB, namespace: "ml", name: "t1", uid: "uid-of-job-t1" },
  rules: [{ name: "loss", value: "0.5", comparison: "greater", startStep: 3 }],
});

/** A process that can be killed: after that it reaches nothing, and answers nobody. */
function createLife(
  { cluster, sink, clock }: ReturnType<typeof world>,
  killAt: number,
  when: When,
) {
  let calls = 0;
  const dead = Promise.withResolvers<never>();
  dead.promise.catch(() => {});
  let isDead = false;
  const events: string[] = [];
  async function call<T>(work: () => Promise<T>): Promise<T> {
    if (isDead) return await dead.promise;
    const isLast = calls++ === killAt;
    if (isLast && when === "before") kill();
    if (isDead) return await dead.promise;
    const result = await work();
    if (isLast) kill();
    return isDead ? await dead.promise : result;
  }
  const over = new AbortController();
  function kill() {
    isDead = true;
    dead.reject(new Error("killed"));
    over.abort();
  }
  const client = cluster.client();
  const guarded: Pick<KubeClient, "get" | "patch" | "delete"> = {
    get: (...all) => call(() => client.get(...all)),
    patch: (...all) => call(() => client.patch(...all)),
    delete: (...all) => call(() => client.delete(...all)),
  };
  const guardedSink: ObservationSink = {
    ...sink,
    append: (...all) => call(() => sink.append(...all)),
    read: (...all) => call(() => sink.read(...all)),
  };
  const leading = () => !isDead;
  const stored = () => storedStopOf(cluster.peek(KINDS.trainJob, "ml/t1") ?? {});
  // Pods of a JobSet that is suspended are gone.
  const presentRun = () =>
    cluster.peek(KINDS.jobSet, "ml/t1")?.spec?.suspend === true ? NO_RUN : RUN;
  const observations = createObservations({
    sink: guardedSink,
    plans: {
      planFor: () => PLAN,
      openPlans: () => [PLAN],
      isOpen: () => true,
      isPrimary: () => true,
      presentRun,
      stopTargetFor: () => Promise.resolve(PLAN),
      storedStop: stored,
      stoppingJobs: () => stored() === undefined ? [] : [PLAN.job],
      stopShown: () => undefined,
      hasEnded: () => false,
      primaryProblem: () => undefined,
      isSuspended: () => false,
    },
    stopper: createStopper({
      client: guarded,
      clock,
      events: { record: ({ kind }, { reason }) => void events.push(`${kind} ${reason}`) },
      deadlineMs: 1_000,
    }),
    clock,
    random: () => 0.5,
    leading,
    sinkMs: 2_500,
  });
  const running = observations.run(over.signal);
  return {
    observations,
    events,
    get calls() {
      return calls;
    },
    get isDead() {
      return isDead;
    },
    async end() {
      kill();
      await running;
    },
  };
}

type Life = ReturnType<typeof createLife>;

/** Sends a push once. Resolves with undefined if the process was killed. */
async function pushOnce(life: Life, step: number, loss: string): Promise<PushAnswer | undefined> {
  const answer = await life.observations.accept(pushOf(PLAN, step, loss), never);
  return life.isDead ? undefined : answer;
}

/** Runs a client that retries each push until it is accepted, with an owner that is killed once. */
async function train(log: Log, killAt: number, when: When) {
  const scene = world(log);
  const lives: Life[] = [createLife(scene, killAt, when)];
  const answers: PushAnswer[] = [];
  async function current(): Promise<Life> {
    const last = lives.at(-1);
    assert.ok(last);
    if (!last.isDead) return last;
    await last.end();
    const next = createLife(scene, Infinity, "after");
    lives.push(next);
    return next;
  }
  for (const [step, loss] of LOSSES.entries()) {
    for (let tries = 0;; tries++) {
      assert.ok(tries < 5, "a push is never taken");
      const answer = await pushOnce(await current(), step, loss);
      await scene.clock.advance(1_000);
      if (!answer?.ok) continue;
      answers.push(answer);
      break;
    }
  }
  await scene.clock.advance(20_000);
  await (await current()).observations.settle(PLAN.job, never);
  await scene.clock.advance(20_000);
  const calls = lives[0]?.calls ?? 0;
  const told = lives.flatMap(({ events }) => events);
  for (const life of lives) await life.end();
  return { ...scene, answers, calls, told, wasKilled: lives.length > 1 };
}

async function assertOnce(log: Log, killAt: number, when: When) {
  const { cluster, sink, answers, told, calls, wasKilled } = await train(log, killAt, when);
  const rows = await sink.read(PLAN.key, never);
  assert.deepEqual(rows.map(({ value }) => value), LOSSES);
  assert.deepEqual(
    answers.map((it) => it.ok && it.control !== undefined),
    [false, false, true],
  );
  const { status } = cluster.peek(KINDS.trial, "ml/t1") ?? {};
  assert.deepEqual(status?.conditions?.map(({ type }) => type), [
    "Created",
    "Running",
    "EarlyStopped",
  ]);
  assert.deepEqual(status?.observation?.metrics, [
    { name: "loss", min: "0.7", max: "0.9", latest: "0.7" },
  ]);
  const job = cluster.peek(KINDS.trainJob, "ml/t1");
  const conditions = job?.status?.conditions?.map(({ type, status }) => `${type} ${status}`);
  assert.deepEqual(conditions, ["EarlyStopped True", "Complete True"]);
  assert.equal(cluster.peek(KINDS.jobSet, "ml/t1")?.spec?.suspend, true);
  assert.equal(new Set(told).size, told.length, `told twice: ${told}`);
  return { calls, wasKilled };
}

for (const log of ["our own log", "Katib's log"] as const) {
  Deno.test(`a trial is recorded in ${log}, judged and stopped once by an owner that is not killed`, async () => {
    const { calls, wasKilled } = await assertOnce(log, Infinity, "after");
    assert.equal(wasKilled, false);
    assert.ok(calls >= 6, `${calls} calls`);
  });

  for (const when of ["before", "after"] as const) {
    Deno.test(`a trial is recorded in ${log}, judged and stopped once by owners of which one is killed ${when} any call takes effect`, async () => {
      const { calls } = await assertOnce(log, Infinity, when);
      for (let killAt = 0; killAt < calls; killAt++) {
        const { wasKilled } = await assertOnce(log, killAt, when);
        assert.ok(wasKilled, `call ${killAt} of ${calls} was not reached`);
      }
    });
  }
}
