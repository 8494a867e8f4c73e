/** Tests of reads of observations at a replica that is not the owner, through a change of the owner. */
import assert from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { type ObservationEndpoint, observer } from "../../support/observer.ts";
import { until } from "../../support/until.ts";
import { trainJob } from "../../support/standalone.ts";
import { leaderAmong, pusher, type Replica, withReplicas } from "../manager/replicas.ts";
import { withLoggedReplicas } from "./shared_log.ts";

const endpoint = ({ status, manager }: Replica): ObservationEndpoint => ({
  status,
  caBundle: manager.caBundle,
});

function logOf(body: unknown): unknown[] {
  assert.ok(typeof body === "object" && body !== null && "log" in body && Array.isArray(body.log));
  return body.log;
}

Deno.test("a follower reads and watches observations at the owner, and continues with the next owner", async () => {
  await withReplicas(async ({ plane, start }) => {
    const replicas = [await start("a"), await start("b")];
    const { leader, followers: [follower] } = await leaderAmong(replicas);
    assert.ok(follower);
    const reader = await observer(plane.client);
    const job = await pusher(plane, "anywhere");
    await using events = await reader.watch(endpoint(follower), "anywhere");
    assert.equal(events.status, 200);
    assert.partialDeepStrictEqual(await events.next(), { event: "observation", data: { log: [] } });

    assert.equal((await job.push(leader, 10, undefined, { loss: "0.5" })).status, 200);
    assert.partialDeepStrictEqual(await events.next(), { data: { log: [{ value: "0.5" }] } });
    assert.equal((await job.push(follower, 20, undefined, { loss: "0.25" })).status, 200);
    assert.partialDeepStrictEqual(await events.next(), { data: { log: [{ value: "0.25" }] } });
    const here = await reader.read(endpoint(follower), "anywhere");
    assert.equal(here.status, 200, JSON.stringify(here.body));
    assert.deepEqual(here.body, (await reader.read(endpoint(leader), "anywhere")).body);
    assert.partialDeepStrictEqual(here.body, {
      metrics: [{ name: "loss", latest: "0.25", min: "0.25", max: "0.5" }],
    });
    assert.equal(logOf(here.body).length, 2);

    await leader.manager.stop();
    await until("the follower leads", () => follower.manager.leading());
    // The log was in the memory of the first owner; where it is shared, the next one reads it.
    await until("an answer of the new owner", async () => {
      const { status, body } = await reader.read(endpoint(follower), "anywhere");
      assert.ok(status === 200 || status === 503, JSON.stringify(body));
      return status === 200;
    });
    assert.equal((await job.push(follower, 30, undefined, { loss: "0.125" })).status, 200);
    let seen = await events.next();
    while ("data" in seen && logOf(seen.data).length === 0) seen = await events.next();
    assert.partialDeepStrictEqual(seen, { data: { log: [{ value: "0.125" }] } });
  });
});

Deno.test("no replica answers for a log whose owner was paused", async () => {
  await withReplicas(async ({ plane, start }) => {
    const replicas = [await start("a"), await start("b")];
    const { leader, followers: [follower] } = await leaderAmong(replicas);
    assert.ok(follower);
    const reader = await observer(plane.client);
    const job = await pusher(plane, "paused");
    assert.equal((await job.push(leader, 10, undefined, { loss: "0.5" })).status, 200);
    // So that who it is and what they may are known for some time to come.
    for (const replica of [leader, follower]) {
      assert.equal((await reader.read(endpoint(replica), "paused")).status, 200);
      replica.cutOff();
    }
    leader.pause(60_000);
    for (const replica of [leader, follower]) {
      const { status, headers } = await reader.read(endpoint(replica), "paused");
      assert.equal(status, 503);
      assert.match(headers.get("retry-after") ?? "", /^\d+$/);
    }
  });
});

/** Rules make the log the job's own business: then a push is acknowledged when its rows are in it. */
const RECORDED = JSON.stringify({
  objective: { name: "loss", type: "minimize" },
  rules: [{ name: "loss", value: "1000", comparison: "greater" }],
});

Deno.test("a stream sends each acknowledged row once, also if its owner ends meanwhile", async () => {
  await withLoggedReplicas(["a", "b", "c"], async ({ plane, leader, followers }) => {
    const [watched, other] = followers;
    assert.ok(watched && other);
    const reader = await observer(plane.client);
    const annotations = { "trainer.kubeflow.org/early-stopping": RECORDED };
    await plane.client.create(KINDS.trainJob, trainJob("streamed", "plain", { annotations }));
    const job = await pusher(plane, "streamed", { exists: true });
    await using events = await reader.watch(endpoint(watched), "streamed");

    const alive = [leader, watched, other];
    let stopping: Promise<void> | undefined;
    for (let step = 0; step < 30; step++) {
      if (step === 10) {
        stopping = leader.manager.stop();
        alive.shift();
      }
      await until(`push ${step} is taken`, async () => {
        const replica = alive[step % alive.length];
        assert.ok(replica);
        const { status } = await job.push(replica, step, undefined, { loss: String(step) });
        assert.ok(status === 200 || status === 503, `${status}`);
        return status === 200;
      }, { timeoutMs: 60_000, everyMs: 100 });
    }
    await stopping;
    const told: string[] = [];
    while (told.length < 30) {
      const next = await events.next();
      assert.ok("data" in next, JSON.stringify(next));
      for (const row of logOf(next.data)) {
        assert.ok(typeof row === "object" && row !== null && "value" in row);
        told.push(String(row.value));
      }
    }
    // A push that nobody acknowledged, and that came again, is another row of its own time.
    assert.deepEqual([...new Set(told)], Array.from({ length: 30 }, (_, step) => String(step)));
    const { body } = await reader.read(endpoint(other), "streamed", { query: "?limit=5000" });
    assert.equal(logOf(body).length, told.length);
  });
});
