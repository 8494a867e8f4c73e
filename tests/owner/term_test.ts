/** Tests of a term: what becomes of a push, and how others hear of what it changed. */
import assert from "node:assert/strict";
import { z } from "zod";
import { type AnyJob, jobSchema } from "../../crds/job_kind.ts";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import type { PlanSource } from "../../owner/observations/observations.ts";
import { createOwnedState } from "../../owner/owned_state.ts";
import type { TermOptions } from "../../owner/term.ts";
import { MemoryCluster } from "../controller/memory_cluster.ts";
import { FakeClock, settle, settlePromises } from "../support/fake_clock.ts";
import { PLAIN_JOB as job, PLAIN_PLAN, recordingParts } from "./recording_parts.ts";

const NEVER = new AbortController().signal;

/** The state of a replica without jobs in its caches; `begin` begins a term. */
function start(planFor: PlanSource["planFor"] = () => PLAIN_PLAN, object?: AnyJob) {
  const clock = new FakeClock(undefined, () => settlePromises(80));
  const options: TermOptions = {
    client: new MemoryCluster().client(),
    jobs: new Map([[TRAINJOB, { jobs: { get: () => object, onChange: () => () => {} } }]]),
    jobSets: { onChange: () => () => {} },
    clock,
    curveBytes: 1 << 20,
    leadership: { leading: true, deadlineMs: () => 4_000 },
    intervalMs: 1000,
    writesPerSecond: 50,
    recording: () => recordingParts({ planFor }),
  };
  const owned = createOwnedState(options);
  const begin = () => {
    const over = new AbortController();
    const running = owned.run(over.signal, 0);
    return async () => {
      over.abort();
      await clock.advance(0);
      await running;
    };
  };
  const push = (value: string) =>
    owned.accept({
      job,
      pod: { name: "p", uid: "p1" },
      trainerStatus: {
        lastUpdatedTime: new Date(clock.now()).toISOString(),
        metrics: [{ name: "loss", value }],
      },
      receivedMs: clock.now(),
    }, NEVER);
  return { clock, owned, begin, push };
}

const TAKEN = { ok: true };
const REFUSED = { retryAfterMs: 1000, reason: "busy" };
const PLANS: Readonly<Record<string, { planFor: PlanSource["planFor"]; answer: object }>> = {
  "that no log records": { planFor: () => ({ kind: "none" }), answer: TAKEN },
  "that is taken": { planFor: () => PLAIN_PLAN, answer: TAKEN },
  "that is taken later": { planFor: () => Promise.resolve(PLAIN_PLAN), answer: TAKEN },
  "that no log records after all": {
    planFor: () => Promise.resolve({ kind: "none" }),
    answer: TAKEN,
  },
  "that is refused": { planFor: () => ({ kind: "unknown", why: "busy" }), answer: REFUSED },
  "that is refused later": {
    planFor: () => Promise.resolve({ kind: "unknown", why: "busy" }),
    answer: REFUSED,
  },
};
for (const [what, { planFor, answer }] of Object.entries(PLANS)) {
  const isTaken = answer === TAKEN;
  Deno.test(`a push ${what} is ${isTaken ? "" : "not "}in the curves`, async () => {
    const { owned, begin, push } = start(planFor);
    const end = begin();
    assert.deepEqual(await push("1"), answer);
    assert.equal(owned.term?.curves.hasSamples(job.uid), isTaken);
    assert.equal(owned.term?.ledger.pending(), 1, "its progress is shown all the same");
    await end();
  });
}

Deno.test("a replica that is not the owner has no answer", async () => {
  const { owned, push } = start();
  const kind = {
    name: "any",
    write: (ask: object) => ask,
    schemas: { ask: z.looseObject({}), answer: z.looseObject({}) },
    answer: () => Promise.resolve({}),
  };
  assert.equal(await owned.ask(kind, {}, NEVER), undefined);
  for (const poll of Object.values(owned.changes)) {
    assert.equal(await poll([{ job }], 0, NEVER), undefined);
  }
  assert.deepEqual(await push("1"), {
    retryAfterMs: 1000,
    reason: "this replica does not own the status of jobs",
  });
});

for (const kind of ["status", "observation", "curves"] as const) {
  Deno.test(`a waiting reader is notified of a push by its ${kind}, and of the next owner`, async () => {
    const { owned, begin, push } = start();
    const poll = (cursor: string | undefined, waitMs: number) =>
      owned.changes[kind]([{ job, cursor }], waitMs, NEVER);
    const endFirst = begin();
    const [before] = await poll(undefined, 0) ?? [];
    assert.ok(before !== undefined);
    assert.deepEqual(await poll(before.cursor, 0), []);

    const waiting = poll(before.cursor, 10_000);
    await settle();
    await push("1");
    const [changed] = await waiting ?? [];
    assert.ok(changed !== undefined && changed.cursor !== before.cursor);

    const late = poll(changed.cursor, 10_000);
    await endFirst();
    const endSecond = begin();
    const [next] = await poll(changed.cursor, 0) ?? [];
    assert.ok(next !== undefined && next.cursor !== changed.cursor);
    assert.deepEqual(await late, [], "of the term that is over nobody hears any more");
    await endSecond();
  });
}

Deno.test("a job that is quiet is marked in its curves, until it is heard", async () => {
  const object = jobSchema.parse({
    ...{ apiVersion: TRAINJOB.apiVersion, kind: "TrainJob", status: { state: "Running" } },
    metadata: { name: job.name, namespace: job.namespace, uid: job.uid },
  });
  const { owned, begin, push, clock } = start(() => PLAIN_PLAN, object);
  const end = begin();
  const marks = () => owned.term?.curves.marksOf(job.uid)?.map(({ kind }) => kind);
  await push("1");
  for (let second = 0; second < 16 * 60; second++) await clock.advance(1000);
  assert.deepEqual(marks(), ["quiet"], "half of the time that a program may compile");
  await push("2");
  assert.deepEqual(marks(), []);
  await end();
});
