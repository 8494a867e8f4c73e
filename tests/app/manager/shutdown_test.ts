/** Test of the order in which a leading manager ends: unready, no new pushes, pending writes, the Lease. */
import assert from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { MANAGER } from "../../../crds/names.ts";
import type { KubeClient } from "../../../platform/kube/client.ts";
import { leaderAmong, type Pusher, pusher, type Replica, withReplicas } from "./replicas.ts";

const JOBS = 12;

async function readyz({ manager }: Replica): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${manager.ports.health}/readyz`);
  await answer.body?.cancel();
  return answer.status;
}

Deno.test("a leader that stops becomes unready, then writes accepted pushes, then releases the Lease", async () => {
  await withReplicas(async ({ plane, start }) => {
    const order: string[] = [];
    const state: { stopping?: Replica } = {};
    /** Notes what is written while it stops, and in what state. */
    async function note(what: string): Promise<void> {
      if (state.stopping === undefined) return;
      order.push(`${what}, ready ${await readyz(state.stopping)}`);
    }
    const wrap = (client: KubeClient): KubeClient => ({
      ...client,
      async patch(kind, key, patch, options) {
        const answer = await client.patch(kind, key, patch, options);
        if (options?.subresource === "status") await note("progress");
        return answer;
      },
      async replace(kind, object, options) {
        const answer = await client.replace(kind, object, options);
        if (kind.plural === KINDS.lease.plural) await note("lease");
        return answer;
      },
    });
    const flags = { statusWritesQps: "1", leaseDuration: "60s", renewDeadline: "50s" };
    const replica = await start("only", { flags: { ...flags, retryPeriod: "20s" }, wrap });
    await leaderAmong([replica]);
    const jobs: Pusher[] = [];
    for (let job = 0; job < JOBS; job++) jobs.push(await pusher(plane, `job-${job}`));
    const pushAll = async (percentage: number) => {
      for (const job of jobs) assert.equal((await job.push(replica, percentage)).status, 200);
    };
    await pushAll(1);
    await pushAll(2);
    assert.ok(await replica.metric("ledger_pending") > JOBS / 2);
    state.stopping = replica;
    const stopped = replica.manager.stop();
    assert.equal(replica.manager.ready(), false);
    await stopped;
    assert.equal(order.pop(), "lease, ready 503");
    assert.deepEqual(new Set(order), new Set(["progress, ready 503"]));
    assert.ok(order.length > JOBS / 2, `${order.length} writes`);
    for (const job of jobs) assert.equal(await job.shown(), 2);
    const lease = { namespace: MANAGER.namespace, name: MANAGER.lease };
    assert.equal((await plane.client.get(KINDS.lease, lease)).spec?.holderIdentity, "");
    await assert.rejects(pushAll(3), TypeError, "nobody listens any more");
  });
});
