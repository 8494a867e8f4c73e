/** Tests of the recording of trials: stops, events, terms, and deletions of logs. */
import assert from "node:assert/strict";
import { createTrialRecording, followTrials } from "../../../katib/trials/trial_recording.ts";
import {
  createObservations,
  type ObservationsOptions,
} from "../../../owner/observations/term_observations.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { JOB_KINDS, TRAINJOB } from "../../../crds/job_kinds.ts";
import { WATCHED } from "../../../crds/watched.ts";
import { createMemorySink } from "../../../katib/log/sqlite_sink.ts";
import { type ObservationSink, SinkError } from "../../../owner/observations/sink.ts";
import { type LogKey } from "../../../trials/recording/observation_row.ts";
import { trialIndexes } from "../../../katib/trials/cached_trial.ts";
import { MemoryCluster } from "../../controller/memory_cluster.ts";
import { jobOf, trial } from "./builders.ts";
import { FakeClock, settlePromises } from "../../support/fake_clock.ts";

type Options = Parameters<typeof createTrialRecording>[0];

/** The parts over a cluster in memory with one trial, `ml/t1`. */
function partsWith(sink: ObservationSink) {
  const cluster = new MemoryCluster();
  const made = trial();
  cluster.put(KINDS.trial, made);
  cluster.put(KINDS.trainJob, jobOf(made));
  const events: string[] = [];
  const trials = cluster.informer(WATCHED.trial, trialIndexes);
  const clock = new FakeClock(undefined, () => settlePromises(300));
  const parts: Options = {
    kinds: JOB_KINDS,
    leadership: { deadlineMs: (mostMs) => mostMs },
    client: cluster.client(),
    leaderClient: cluster.client(),
    jobs: new Map([[TRAINJOB, {
      jobs: cluster.informer(WATCHED.trainJob),
      pods: cluster.informer(WATCHED.pod),
    }]]),
    trials: Object.assign(trials, { resting: false, wake: () => {} }),
    jobSets: cluster.informer(KINDS.jobSet),
    clock,
    adopted: () => new Set(),
    events: {
      record: ({ kind, name }, { reason, message }) =>
        void events.push(`${kind} ${name} ${reason}: ${message}`),
    },
    sink,
  };
  const key = { namespace: "ml", name: "t1-node-0-0" };
  cluster.put(KINDS.pod, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      ...key,
      uid: "pod",
      labels: {
        "batch.kubernetes.io/job-completion-index": "0",
        "jobset.sigs.k8s.io/replicatedjob-name": "node",
      },
    },
  });
  return { parts, events, cluster, clock, trials };
}

/** The observations of a term. */
const observationsOf = (parts: Options, onStop?: ObservationsOptions["onStop"]) =>
  createObservations({
    ...createTrialRecording(parts).parts(),
    clock: parts.clock,
    leading: () => true,
    ...(onStop && { onStop }),
  });

const push = (step: number, loss: string) => ({
  job: { kind: TRAINJOB, namespace: "ml", name: "t1", uid: "uid-of-job-t1" },
  pod: { name: "t1-node-0-0", uid: "pod" },
  trainerStatus: {
    metrics: [{ name: "loss", value: loss }],
    lastUpdatedTime: `2026-01-01T00:00:0${step}Z`,
  },
  receivedMs: Date.UTC(2026, 0, 1),
});
const never = new AbortController().signal;

Deno.test("a trial is recorded, stopped and counted by the parts that the manager gives it", async () => {
  const { parts, events, cluster, clock } = partsWith(createMemorySink());
  const stopped: string[] = [];
  const observations = observationsOf(parts, (_, outcome) => void stopped.push(outcome));
  assert.equal(observations.openTrials(), 1);
  const over = new AbortController();
  const running = observations.run(over.signal);
  for (const step of [1, 2, 3]) {
    const answer = await observations.accept(push(step, "0.9"), never);
    assert.equal(answer?.ok && answer.control !== undefined, step === 3);
  }
  await clock.advance(5_000);
  const { status } = cluster.peek(KINDS.trial, "ml/t1") ?? {};
  assert.equal(status?.conditions?.at(-1)?.type, "EarlyStopped");
  assert.equal(events.filter((it) => it.includes("EarlyStopped: ")).length, 2, String(events));
  assert.deepEqual(stopped, ["stopped"]);
  over.abort();
  await running;
});

Deno.test("rows that the log will never take are told on the Trial", async () => {
  const sink = createMemorySink();
  const refusing: ObservationSink = {
    ...sink,
    append: () => Promise.reject(new SinkError("refused", "no such trial")),
  };
  const { parts, events, clock } = partsWith(refusing);
  const observations = observationsOf(parts);
  const over = new AbortController();
  const running = observations.run(over.signal);
  const answer = await observations.accept(push(1, "0.9"), never);
  assert.ok(answer?.ok !== true && answer?.retryAfterMs === 10_000);
  assert.deepEqual(events.filter((it) => it.includes("ObservationRefused")), [
    "Trial t1 ObservationRefused: the observation log refused a push: no such trial",
  ]);
  over.abort();
  await clock.advance(0);
  await running;
});

const sinks: Record<
  string,
  { knowsTrialsByNameAlone: boolean; namesake?: boolean; wanted: boolean }
> = {
  "one of our own": { knowsTrialsByNameAlone: false, wanted: true },
  "one of our own, with a namesake": {
    knowsTrialsByNameAlone: false,
    namesake: true,
    wanted: true,
  },
  "one that Katib cleans up": { knowsTrialsByNameAlone: true, wanted: true },
  "one that a namesake shares": { knowsTrialsByNameAlone: true, namesake: true, wanted: false },
};
for (const [sentence, { wanted, namesake = false, ...sink }] of Object.entries(sinks)) {
  Deno.test(`\`followTrials()\` deletes the logs of Trials that are gone where it should: ${sentence}`, async () => {
    const { cluster, trials } = partsWith(createMemorySink());
    if (namesake) cluster.put(KINDS.trial, trial({}, { namespace: "other", uid: "uid-of-other" }));
    const dropped: [LogKey, boolean | undefined][] = [];
    const stop = followTrials(
      trials,
      { traits: sink },
      (key, isWanted) => void dropped.push([key, isWanted?.()]),
    );
    await cluster.client().delete(KINDS.trial, { namespace: "ml", name: "t1" });
    stop();
    const key = { kind: "trial", namespace: "ml", name: "t1", uid: "uid-of-t1" };
    assert.deepEqual(dropped, [[key, wanted]]);
  });
}

for (const knowsTrialsByNameAlone of [true, false]) {
  const whose = knowsTrialsByNameAlone ? "Katib's" : "one of our own";
  Deno.test(`no row remains of a Trial that is deleted while its pod pushes: the log is ${whose}`, async () => {
    const inner = createMemorySink();
    let release = () => {};
    const held = new Promise<void>((resolve) => release = resolve);
    const sink: ObservationSink = {
      ...inner,
      traits: { ...inner.traits, knowsTrialsByNameAlone },
      append: (key, rows, signal) => held.then(() => inner.append(key, rows, signal)),
    };
    const { parts, cluster, clock } = partsWith(sink);
    const observations = observationsOf(parts);
    const over = new AbortController();
    const running = observations.run(over.signal);
    const underWay = observations.accept(push(1, "0.4"), never);
    await settlePromises(50);
    const deletionTimestamp = "2026-01-01T00:00:01Z";
    cluster.put(KINDS.trial, trial({}, { deletionTimestamp, finalizers: ["clean-metrics-in-db"] }));
    const key: LogKey = { kind: "trial", namespace: "ml", name: "t1", uid: "uid-of-t1" };
    // What Katib does.
    await inner.delete(key, never);
    const refused = await observations.accept(push(2, "0.4"), never);
    assert.ok(refused !== undefined && !refused.ok && refused.gone, JSON.stringify(refused));
    release();
    assert.equal((await underWay)?.ok, true);
    await clock.advance(0);
    assert.deepEqual(await inner.read(key, never), []);
    over.abort();
    await clock.advance(0);
    await running;
  });
}

Deno.test("a term removes the logs of Trials that went before it began, and no others", async () => {
  const sink = createMemorySink();
  const rows = [{ time: "2026-01-01T00:00:00.000Z", name: "loss", value: "1" }];
  const { signal } = new AbortController();
  const keys = ["t1", "gone"].map((name): LogKey => (
    { kind: "trial", namespace: "ml", name, uid: `uid-of-${name}` }
  ));
  for (const key of keys) await sink.append(key, rows, signal);
  const { parts, clock } = partsWith(sink);
  const over = new AbortController();
  const running = observationsOf(parts).run(over.signal);
  await clock.advance(1_000);
  const read = await Promise.all(keys.map((key) => sink.read(key, signal)));
  over.abort();
  await running;
  assert.deepEqual(read.map(({ length }) => length), [1, 0]);
});
