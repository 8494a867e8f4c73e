/** Tests of polls of the owner: where they go, and what ends them. */
import assert from "node:assert/strict";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import { createOwnerPoll, type JobVersion } from "../../owner/owner_poll.ts";
import type { LeaderLocation } from "../../platform/kube/leading/leadership.ts";
import { FakeClock, settle } from "../support/fake_clock.ts";

const job = { kind: TRAINJOB, namespace: "team", name: "a", uid: "uid-a" };
const version = (count: number): JobVersion => ({ uid: job.uid, cursor: `c${count}` });
const here: LeaderLocation = { kind: "here" };
const nowhere: LeaderLocation = { kind: "nowhere" };
const elsewhere = (transitions: number): LeaderLocation => ({
  kind: "elsewhere",
  address: "10.0.0.2:8443",
  transitions,
});

/** A poll whose owner is where `at.place` says. */
function ownerPoll(options: Partial<Parameters<typeof createOwnerPoll<JobVersion>>[0]> = {}) {
  const clock = new FakeClock();
  const at: { place: LeaderLocation } = { place: nowhere };
  const did: string[] = [];
  const poll = createOwnerPoll({
    leader: { locate: () => at.place, refresh: () => did.push("look") },
    here: () => {
      did.push("here");
      return Promise.resolve([version(1)]);
    },
    forward: (target, ask, { deadlineMs }) => {
      did.push(`to term ${target.transitions}, ${ask.waitMs} of ${deadlineMs} ms`);
      return Promise.resolve([version(2)]);
    },
    clock,
    ...options,
  });
  const ask = () => poll([{ job }], 10_000, new AbortController().signal);
  return { clock, at, did, ask };
}

const places: Record<string, { place: LeaderLocation; want: string | undefined; did: string[] }> = {
  "this replica if it is the owner": { place: here, want: "c1", did: ["here"] },
  "the owner elsewhere, for its term": {
    place: elsewhere(3),
    want: "c2",
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
    const versions = await ask();
    assert.equal(versions?.[0]?.cursor, want);
    assert.deepEqual([did, clock.sleeping], [wanted, 0]);
  });
}

Deno.test("`createOwnerPoll()` drops the answer of an owner that lost the lease meanwhile", async () => {
  const state: { at?: { place: LeaderLocation } } = {};
  const { at, ask } = ownerPoll({
    here: () => {
      if (state.at) state.at.place = nowhere;
      return Promise.resolve([version(1)]);
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
    here: (_entries, waitMs, signal) => clock.sleep(waitMs, signal).then(() => undefined),
    forward: () => Promise.resolve(undefined),
    clock,
  });
  at.place = here;
  const asked = poll([], 10_000, gone.signal);
  gone.abort();
  assert.equal(await asked, undefined);
  assert.deepEqual([did, clock.sleeping], [[], 0]);
});
