/** Tests of the routing of pushes: to this replica's state, to the owner, or into the waiting room. */
import assert from "node:assert/strict";
import { TRAINJOB } from "../../../../crds/job_kinds.ts";
import type { LeaderLocation } from "../../../../platform/kube/leading/leadership.ts";
import type { PushAnswer } from "../../../../crds/wire/push_answer.ts";
import type { Push } from "../../../../crds/wire/push.ts";
import type { ForwardResult } from "../../../../owner/replicas/forwarding.ts";
import {
  createOwnerRouter,
  type OwnerRouterOptions,
} from "../../../../platform/http/replicas/owner_router.ts";
import { FakeClock } from "../../../support/fake_clock.ts";

const push: Push = {
  job: { kind: TRAINJOB, namespace: "team", name: "job", uid: "uid-job" },
  pod: { name: "pod", uid: "uid-pod" },
  trainerStatus: { progressPercentage: 5, lastUpdatedTime: "2026-01-01T00:00:00Z" },
  receivedMs: 0,
};
const here: LeaderLocation = { kind: "here" };
const nowhere: LeaderLocation = { kind: "nowhere" };
const elsewhere: LeaderLocation = { kind: "elsewhere", address: "10.0.0.2:8443", transitions: 3 };
const ok: PushAnswer = { ok: true };
const never = new AbortController().signal;

/** A router whose owner is where `at.place` says; what it did stands in `did`. */
function setUp(options: Partial<OwnerRouterOptions<Push, PushAnswer>> = {}) {
  const clock = new FakeClock();
  const at: { place: LeaderLocation } = { place: nowhere };
  const did: string[] = [];
  let looks = 0;
  const results: ForwardResult[] = [];
  const accept = createOwnerRouter<Push, PushAnswer>({
    leader: { locate: () => at.place, refresh: () => looks++ },
    here: () => {
      did.push("here");
      return Promise.resolve(ok);
    },
    forward: ({ address, transitions }, _push, { deadlineMs }) => {
      did.push(`to ${address} of term ${transitions}`);
      assert.ok(deadlineMs > 0 && deadlineMs <= 2500, `deadline ${deadlineMs}`);
      return Promise.resolve(results.shift() ?? { outcome: "accepted", acceptance: ok });
    },
    clock,
    random: () => 0,
    ...options,
  });
  return { accept, at, clock, did, results, looks: () => looks };
}

/** The answer, once there is one, with the time it took. */
function timed(clock: FakeClock, answer: PushAnswer | Promise<PushAnswer>) {
  const began = clock.monotonic();
  const seen: { answer?: PushAnswer; afterMs?: number } = {};
  Promise.resolve(answer).then((it) =>
    Object.assign(seen, { answer: it, afterMs: clock.monotonic() - began })
  );
  return seen;
}

Deno.test("`createOwnerRouter()` returns synchronously if this replica is the owner and answers at once", () => {
  const { accept, at } = setUp({ here: () => ok });
  at.place = here;
  assert.deepEqual(accept(push, never), ok);
});

Deno.test("`createOwnerRouter()` drops the answer of an owner that lost the lease meanwhile", async () => {
  const { accept, at, did, clock } = setUp({
    here: () => {
      at.place = elsewhere;
      return ok;
    },
  });
  at.place = here;
  const seen = timed(clock, accept(push, never));
  await clock.advance(100);
  assert.deepEqual([seen.answer, did], [ok, ["to 10.0.0.2:8443 of term 3"]]);
});

Deno.test("`createOwnerRouter()` accepts at once if this replica is the owner", async () => {
  const { accept, at, did, looks } = setUp();
  at.place = here;
  assert.deepEqual(await accept(push, never), ok);
  assert.deepEqual([did, looks()], [["here"], 0]);
});

Deno.test("`createOwnerRouter()` forwards to an owner on another replica, and passes its answer on", async () => {
  const { accept, at, did, results } = setUp();
  at.place = elsewhere;
  const refused: PushAnswer = { retryAfterMs: 7000, reason: "too many jobs" };
  results.push({ outcome: "refused", acceptance: refused });
  assert.deepEqual(await accept(push, never), refused);
  assert.deepEqual(did, ["to 10.0.0.2:8443 of term 3"]);
});

Deno.test("`createOwnerRouter()` holds a push for 2 s, then answers 503", async () => {
  const { accept, clock, did, looks } = setUp();
  const seen = timed(clock, accept(push, never));
  await clock.advance(1999);
  assert.equal(seen.answer, undefined);
  await clock.advance(1);
  assert.equal(seen.afterMs, 2000);
  assert.partialDeepStrictEqual(seen.answer, { retryAfterMs: 2000 });
  assert.deepEqual(did, []);
  assert.ok(looks() > 10, "it looks for an owner");
});

const comes: Record<string, { place: LeaderLocation; did: string[] }> = {
  "this replica becomes the owner": { place: here, did: ["here"] },
  "another one becomes the owner": { place: elsewhere, did: ["to 10.0.0.2:8443 of term 3"] },
};
for (const [sentence, { place, did: want }] of Object.entries(comes)) {
  Deno.test(`a held push is accepted as soon as ${sentence}`, async () => {
    const { accept, at, clock, did } = setUp();
    const seen = timed(clock, accept(push, never));
    await clock.advance(1000);
    at.place = place;
    await clock.advance(100);
    assert.deepEqual([seen.answer, did], [ok, want]);
  });
}

for (
  const outcome of ["unreachable", "timeout", "not_owner", "older_transition", "saturated"] as const
) {
  Deno.test(`a push is tried again if the call ended with ${outcome}`, async () => {
    const { accept, at, clock, did, results } = setUp();
    at.place = elsewhere;
    results.push({ outcome }, { outcome });
    const seen = timed(clock, accept(push, never));
    await clock.advance(200);
    assert.deepEqual([seen.answer, did.length], [ok, 3]);
  });
}

Deno.test("an owner that lost the lease while it accepted does not answer", async () => {
  const at: { place: LeaderLocation } = { place: here };
  const { accept, clock } = setUp({
    leader: { locate: () => at.place, refresh: () => {} },
    here: () => {
      at.place = nowhere;
      return Promise.resolve(ok);
    },
  });
  const seen = timed(clock, accept(push, never));
  await clock.advance(2000);
  assert.partialDeepStrictEqual(seen.answer, { retryAfterMs: 2000 });
});

Deno.test("no more pushes are held than there is room for", async () => {
  const { accept, clock } = setUp({ maxHeld: 1 });
  const first = timed(clock, accept(push, never));
  const second = timed(clock, accept(push, never));
  await clock.advance(0);
  assert.equal(first.answer, undefined);
  assert.deepEqual([second.afterMs, second.answer?.ok], [0, undefined]);
  await clock.advance(2000);
  assert.equal(first.afterMs, 2000);
  const third = timed(clock, accept(push, never));
  await clock.advance(100);
  assert.equal(third.answer, undefined);
  await clock.advance(2000);
});

Deno.test("a push whose client is gone is not held", async () => {
  const { accept, clock } = setUp();
  const gone = new AbortController();
  const seen = timed(clock, accept(push, gone.signal));
  await clock.advance(100);
  gone.abort();
  await clock.advance(0);
  assert.equal(seen.afterMs, 100);
  assert.equal(clock.sleeping, 0);
});
