/** Tests of two replicas: one owns the state, both accept pushes, and either may end at any time. */
import assert from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { MANAGER } from "../../../crds/names.ts";
import { trainJob } from "../../support/standalone.ts";
import { until } from "../../support/until.ts";
import {
  leaderAmong,
  type Pusher,
  pusher,
  type Replica,
  showsProgress,
  withReplicas,
} from "./replicas.ts";

/** Pushes until it is accepted; every refusal on the way must tell the client to come again. */
async function pushUntilAccepted(
  { push }: Pusher,
  replica: Replica,
  percentage: number,
): Promise<number> {
  let refused = 0;
  await until("a push is accepted", async () => {
    const { status, retryAfter } = await push(replica, percentage);
    if (status === 200) return true;
    assert.equal(status, 503);
    assert.match(retryAfter ?? "", /^\d+$/);
    refused += 1;
    return false;
  }, { timeoutMs: 40_000 });
  return refused;
}

Deno.test("one replica leads, and a push to either shows on the TrainJob", async () => {
  await withReplicas(async ({ plane, start }) => {
    const replicas = [await start("a"), await start("b")];
    const { leader, followers: [follower] } = await leaderAmong(replicas);
    assert.ok(follower);
    const key = { namespace: MANAGER.namespace, name: MANAGER.lease };
    const lease = await plane.client.get(KINDS.lease, key);
    assert.equal(lease.spec?.holderIdentity, leader.manager.identity);
    assert.match(leader.manager.identity, /^[ab]_uid-[ab]_[0-9a-f-]{36}$/);
    const address = lease.metadata?.annotations?.[MANAGER.forwardAddressAnnotation];
    assert.match(address ?? "", /^127\.0\.0\.1:\d+$/);

    const job = await pusher(plane, "both");
    assert.equal((await job.push(follower, 10)).status, 200);
    await showsProgress(job, 10);
    assert.equal((await job.push(leader, 20)).status, 200);
    await showsProgress(job, 20);
    const forwarded = (it: Replica) => it.metric("forwarded_pushes_total", '{result="accepted"}');
    assert.deepEqual([await forwarded(follower), await forwarded(leader)], [1, 0]);
    assert.deepEqual([await follower.metric("leader"), await leader.metric("leader")], [0, 1]);
  });
});

Deno.test("a leader that cannot reach the API server any more is replaced by the other replica", async () => {
  await withReplicas(async ({ plane, start }) => {
    const replicas = [await start("a"), await start("b")];
    const { leader, followers: [follower] } = await leaderAmong(replicas);
    assert.ok(follower);
    const job = await pusher(plane, "taken-over");
    assert.equal((await job.push(leader, 10)).status, 200);
    await showsProgress(job, 10);
    leader.cutOff();
    await leader.manager.whenReady();
    // Taken by the old owner, but it can write it no more.
    await job.push(leader, 11);
    await until("the old leader gave up", () => !leader.manager.leading());
    await pushUntilAccepted(job, follower, 30);
    assert.ok(follower.manager.leading());
    await showsProgress(job, 30);
    assert.equal(await leader.metric("ledger_dropped_total", '{cause="lease_lost"}'), 1);
    assert.equal(leader.manager.leading(), false);
  });
});

Deno.test("a leader whose Lease is deleted goes on, and nobody else leads", async () => {
  await withReplicas(async ({ plane, start }) => {
    const replicas = [await start("a"), await start("b")];
    const { leader, followers: [follower] } = await leaderAmong(replicas);
    assert.ok(follower);
    const job = await pusher(plane, "kept");
    assert.equal((await job.push(follower, 10)).status, 200);
    const key = { namespace: MANAGER.namespace, name: MANAGER.lease };
    const before = await plane.client.get(KINDS.lease, key);
    await plane.client.delete(KINDS.lease, key);
    const after = await until("the Lease is there again", async () => {
      assert.equal(follower.manager.leading(), false);
      const { items } = await plane.client.list(KINDS.lease, { namespace: key.namespace });
      return items.find(({ metadata }) => metadata?.name === key.name);
    });
    const { holderIdentity, leaseTransitions } = after.spec ?? {};
    assert.deepEqual(
      [holderIdentity, leaseTransitions],
      [leader.manager.identity, before.spec?.leaseTransitions],
    );
    assert.equal((await job.push(follower, 20)).status, 200);
    await showsProgress(job, 20);
    assert.deepEqual([leader.manager.leading(), follower.manager.leading()], [true, false]);
  });
});

Deno.test("a paused owner accepts nothing before it has renewed the Lease", async () => {
  await withReplicas(async ({ plane, start }) => {
    const replicas = [await start("a"), await start("b")];
    const { leader, followers: [follower] } = await leaderAmong(replicas);
    assert.ok(follower);
    const job = await pusher(plane, "paused");
    // It wakes, and cannot renew yet.
    const reconnect = leader.cutOff();
    leader.pause(3_000);
    assert.equal(leader.manager.leading(), false);
    const early = job.push(follower, 30);
    await until(
      "the paused owner refuses a push",
      async () => await follower.metric("forwarded_pushes_total", '{result="not_owner"}') > 0,
    );
    reconnect();
    await early;
    await pushUntilAccepted(job, follower, 40);
    await showsProgress(job, 40);
    await leaderAmong(replicas);
  });
});

Deno.test("a leader that stops writes accepted pushes, and the other replica takes over at once", async () => {
  await withReplicas(async ({ plane, start }) => {
    const replicas = [await start("a"), await start("b")];
    const { leader, followers: [follower] } = await leaderAmong(replicas);
    assert.ok(follower);
    const job = await pusher(plane, "handed-over");
    for (const percentage of [1, 2, 3]) {
      assert.equal((await job.push(leader, percentage)).status, 200);
    }
    await leader.manager.stop();
    assert.equal(await job.shown(), 3);
    // Held for less than the lease lasts: the lease was let go.
    assert.equal((await job.push(follower, 50)).status, 200);
    assert.ok(follower.manager.leading());
    await showsProgress(job, 50);
  });
});

Deno.test("two replicas never lead at once, and nothing is made twice when leaders change", async () => {
  await withReplicas(async ({ plane, start }) => {
    const replicas = [await start("a"), await start("b")];
    const names = Array.from({ length: 12 }, (_, index) => `many-${index}`);
    const create = names.map((name) =>
      plane.client.create(KINDS.trainJob, trainJob(name, "plain"))
    );
    const { leader } = await leaderAmong(replicas);
    leader.cutOff();
    await Promise.all(create);
    const namespace = "default";
    await until("every job has its pod", async () => {
      assert.ok(replicas.filter(({ manager }) => manager.leading()).length <= 1);
      return (await plane.client.list(KINDS.pod, { namespace })).items.length >= names.length;
    }, { timeoutMs: 40_000 });
    const uids = async (kind: typeof KINDS.jobSet | typeof KINDS.job | typeof KINDS.pod) => {
      const { items } = await plane.client.list<{ metadata?: { uid?: string } }>(kind, {
        namespace,
      });
      return new Set(items.map((it) => it.metadata?.uid)).size;
    };
    assert.equal(await uids(KINDS.jobSet), names.length);
    assert.equal(await uids(KINDS.job), names.length);
    assert.equal(await uids(KINDS.pod), names.length);
  });
});
