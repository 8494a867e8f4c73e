/** Tests of the feeds of streams: polls of the owner, and changes of owners. */
import assert from "node:assert/strict";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import type { LeaderLocation } from "../../../kube/leadership.ts";
import { createOwnerPoll, type OwnerPollOptions } from "../../../status/replicas/owner_poll.ts";
import type { JobStatus, ReadEntry, Reading } from "../../../status/reading/reading.ts";
import {
  createStatusFeeds,
  type StatusFeedsOptions,
} from "../../../status/reading/status_feeds.ts";
import { FakeClock, settle } from "../../support/fake_clock.ts";

const job = (name: string) => ({ kind: TRAINJOB, namespace: "team", name, uid: `uid-${name}` });
const reading = (name: string, percentage: number): Reading => ({
  uid: `uid-${name}`,
  cursor: `c${percentage}`,
  status: {
    trainerStatus: { progressPercentage: percentage, lastUpdatedTime: "2026-01-01T00:00:00Z" },
    receivedTime: "2026-01-01T00:00:00Z",
    pod: "pod-1",
  },
});

interface Call {
  readonly asked: string[];
  readonly answer: (readings: readonly Reading[] | undefined) => void;
  readonly signal: AbortSignal;
}

/** Feeds over an owner whose answers a test gives. */
function start(options: Partial<StatusFeedsOptions> = {}) {
  const clock = new FakeClock();
  const calls: Call[] = [];
  const feeds = createStatusFeeds({
    clock,
    random: () => 0,
    poll: (entries: readonly ReadEntry[], _waitMs, signal) =>
      new Promise((answer) => {
        const asked = entries.map(({ job: { name }, cursor }) => `${name}@${cursor ?? ""}`);
        calls.push({ asked, answer, signal });
        signal.addEventListener("abort", () => answer(undefined));
      }),
    ...options,
  });
  const heard: string[] = [];
  const follow = (name: string, reader = name) =>
    feeds.follow(job(name), ({ trainerStatus }: JobStatus) => {
      heard.push(`${reader}:${trainerStatus.progressPercentage}`);
    });
  const lastCall = () => {
    const call = calls.at(-1);
    assert(call !== undefined);
    return call;
  };
  return { clock, calls, feeds, heard, follow, lastCall };
}

Deno.test("`follow()` of one job by several readers asks the owner once", async () => {
  const { clock, calls, feeds, heard, follow, lastCall } = start();
  follow("a", "r1");
  follow("a", "r2");
  assert.deepEqual(calls.map(({ asked }) => asked), [["a@"]]);
  lastCall().answer([reading("a", 1)]);
  await settle();
  follow("a", "r3");
  assert.deepEqual(heard, ["r1:1", "r2:1", "r3:1"]);
  await clock.advance(50);
  assert.deepEqual(lastCall().asked, ["a@c1"]);
  assert.equal(feeds.jobs(), 1);
  await feeds.close();
});

Deno.test("`follow()` of one more job asks for it with the others, at once", async () => {
  const { clock, calls, feeds, heard, follow, lastCall } = start();
  follow("a");
  lastCall().answer([reading("a", 1)]);
  await clock.advance(50);
  follow("b");
  await clock.advance(50);
  assert.equal(calls[1]?.signal.aborted, true);
  assert.deepEqual(lastCall().asked, ["a@c1", "b@"]);
  lastCall().answer([reading("b", 2)]);
  await clock.advance(50);
  assert.deepEqual([heard, lastCall().asked], [["a:1", "b:2"], ["a@c1", "b@c2"]]);
  await feeds.close();
});

Deno.test("jobs that had news are asked for last, so that a full answer starves no job", async () => {
  const { clock, feeds, follow, lastCall } = start();
  for (const name of ["a", "b", "c"]) follow(name);
  await clock.advance(50);
  lastCall().answer([reading("a", 1)]);
  await clock.advance(50);
  assert.deepEqual(lastCall().asked, ["b@", "c@", "a@c1"]);
  await feeds.close();
});

Deno.test("a call without answer is made again after a pause that grows, up to 2 s", async () => {
  const { clock, calls, feeds, follow, lastCall } = start();
  follow("a");
  const pauses: number[] = [];
  for (let round = 0; round < 7; round++) {
    const count = calls.length;
    lastCall().answer(undefined);
    await settle();
    const began = clock.monotonic();
    while (calls.length === count) await clock.advance(clock.nextWakeMs ?? 0);
    pauses.push(clock.monotonic() - began);
  }
  assert.deepEqual(pauses, [100, 200, 400, 800, 1600, 2000, 2000]);
  await feeds.close();
});

Deno.test("jobs beyond the bound of a call go into another one", async () => {
  const { calls, feeds, follow } = start({ jobsPerCall: 2 });
  for (const name of ["a", "b", "c"]) follow(name);
  await settle();
  assert.equal(calls.filter(({ signal }) => !signal.aborted).length, 1);
  assert.deepEqual(calls.at(-1)?.asked, ["c@"]);
  await feeds.close();
});

Deno.test("polling ends with the last follower, and starts again with the next", async () => {
  const { clock, calls, feeds, heard, follow, lastCall } = start();
  const stop = follow("a");
  lastCall().answer([reading("a", 1)]);
  await clock.advance(50);
  stop();
  stop();
  await clock.advance(50);
  assert.deepEqual([clock.sleeping, feeds.jobs(), calls.at(-1)?.signal.aborted], [0, 0, true]);
  follow("a", "again");
  assert.deepEqual(lastCall().asked, ["a@"]);
  lastCall().answer([reading("a", 2)]);
  await settle();
  assert.deepEqual(heard, ["a:1", "again:2"]);
  await feeds.close();
  assert.equal(clock.sleeping, 0);
});

Deno.test("a follower that leaves and returns at once causes one call, not two", async () => {
  const { clock, calls, feeds, follow } = start();
  for (let round = 0; round < 20; round++) follow("a")();
  follow("a");
  await clock.advance(1000);
  assert.equal(calls.filter(({ signal }) => !signal.aborted).length, 1);
  await feeds.close();
});

const here: LeaderLocation = { kind: "here" };
const nowhere: LeaderLocation = { kind: "nowhere" };
const elsewhere = (transitions: number): LeaderLocation => ({
  kind: "elsewhere",
  address: "10.0.0.2:8443",
  transitions,
});

/** A poll whose owner is where `at.place` says. */
function ownerPoll(options: Partial<OwnerPollOptions> = {}) {
  const clock = new FakeClock();
  const at: { place: LeaderLocation } = { place: nowhere };
  const did: string[] = [];
  const poll = createOwnerPoll({
    leader: { locate: () => at.place, refresh: () => did.push("look") },
    pollHere: () => {
      did.push("here");
      return Promise.resolve([reading("a", 1)]);
    },
    forward: (target, ask, { deadlineMs }) => {
      did.push(`to term ${target.transitions}, ${ask.waitMs} of ${deadlineMs} ms`);
      return Promise.resolve([reading("a", 2)]);
    },
    clock,
    ...options,
  });
  const ask = () => poll([{ job: job("a") }], 10_000, new AbortController().signal);
  return { clock, at, did, ask };
}

const places: Record<string, { place: LeaderLocation; want: number | undefined; did: string[] }> = {
  "this replica if it is the owner": { place: here, want: 1, did: ["here"] },
  "the owner elsewhere, for its term": {
    place: elsewhere(3),
    want: 2,
    did: ["to term 3, 10000 of 15000 ms"],
  },
  "no replica if there is no owner, and looks for one": {
    place: nowhere,
    want: undefined,
    did: ["look"],
  },
};
for (const [sentence, { place, want, did: wanted }] of Object.entries(places)) {
  Deno.test(`\`createOwnerPoll()\` asks ${sentence}`, async () => {
    const { at, did, ask, clock } = ownerPoll();
    at.place = place;
    const readings = await ask();
    assert.equal(readings?.[0]?.status?.trainerStatus.progressPercentage, want);
    assert.deepEqual([did, clock.sleeping], [wanted, 0]);
  });
}

Deno.test("`createOwnerPoll()` drops the answer of an owner that lost the lease meanwhile", async () => {
  const state: { at?: { place: LeaderLocation } } = {};
  const { at, ask } = ownerPoll({
    pollHere: () => {
      if (state.at) state.at.place = nowhere;
      return Promise.resolve([reading("a", 1)]);
    },
  });
  state.at = at;
  at.place = here;
  assert.equal(await ask(), undefined);
});

Deno.test("`createOwnerPoll()` breaks off within a second when the owner changes", async () => {
  const { clock, at, ask } = ownerPoll({
    forward: (_target, _ask, { signal }) =>
      new Promise((resolve) => signal.addEventListener("abort", () => resolve(undefined))),
  });
  at.place = elsewhere(3);
  const asked = ask();
  await settle();
  at.place = elsewhere(4);
  await clock.advance(1000);
  assert.equal(await asked, undefined);
  assert.equal(clock.sleeping, 0);
});

Deno.test("`createOwnerPoll()` ends with its caller, and does not look for an owner then", async () => {
  const { clock, at, did } = ownerPoll();
  const gone = new AbortController();
  const poll = createOwnerPoll({
    leader: { locate: () => at.place, refresh: () => did.push("look") },
    pollHere: (_entries, waitMs, signal) => clock.sleep(waitMs, signal).then(() => undefined),
    forward: () => Promise.resolve(undefined),
    clock,
  });
  at.place = here;
  const asked = poll([], 10_000, gone.signal);
  gone.abort();
  assert.equal(await asked, undefined);
  assert.deepEqual([did, clock.sleeping], [[], 0]);
});
