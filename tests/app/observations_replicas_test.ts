/** Observations read at a replica that does not own the state, through a change of the owner. */
import assert from "node:assert/strict";
import { type ObservationEndpoint, observer } from "../support/observer.ts";
import { until } from "../support/until.ts";
import { leaderAmong, pusher, type Replica, withReplicas } from "./replicas.ts";

const endpoint = ({ status, manager }: Replica): ObservationEndpoint => ({
  status,
  caBundle: manager.caBundle,
});

function logOf(body: unknown): unknown[] {
  assert.ok(typeof body === "object" && body !== null && "log" in body && Array.isArray(body.log));
  return body.log;
}

Deno.test("a follower reads and watches observations at the owner, and goes on with the next one", async () => {
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

Deno.test("nobody answers for a log whose owner was paused", async () => {
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
