/** Tests of reads at a replica that is not the owner, through changes of the owner. */
import assert from "node:assert/strict";
import { statusPath } from "../../../crds/job_kind.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { openEvents } from "../../support/event_client.ts";
import { until } from "../../support/until.ts";
import {
  leaderAmong,
  type Pusher,
  pusher,
  type Replica,
  showsProgress,
  withReplicas,
} from "./replicas.ts";

const urlAt = ({ status }: Replica, { name }: Pusher) =>
  status + statusPath(TRAINJOB, "default", name);

/** Returns the answer of a replica to GET. */
async function read(replica: Replica, job: Pusher) {
  using http = Deno.createHttpClient({ caCerts: [replica.manager.caBundle()] });
  const answer = await fetch(urlAt(replica, job), {
    client: http,
    headers: { authorization: `Bearer ${job.token}` },
    signal: AbortSignal.timeout(30_000),
  });
  const body: unknown = await answer.json();
  return { status: answer.status, body, retryAfter: answer.headers.get("retry-after") };
}

const percent = (progressPercentage: number) => ({ trainerStatus: { progressPercentage } });
const event = (percentage: number) => ({ event: "status", data: percent(percentage) });

Deno.test("a follower reads from the owner, and its streams continue with the next owner", async () => {
  await withReplicas(async ({ plane, start }) => {
    const replicas = [await start("a"), await start("b")];
    const { leader, followers: [follower] } = await leaderAmong(replicas);
    assert.ok(follower);
    const job = await pusher(plane, "read-anywhere");
    assert.equal((await read(follower, job)).status, 404);

    await using events = await openEvents(`${urlAt(follower, job)}?watch=true`, {
      token: job.token,
      ca: follower.manager.caBundle(),
    });
    assert.equal(events.status, 200);
    assert.equal((await job.push(leader, 10)).status, 200);
    assert.partialDeepStrictEqual(await events.next(), event(10));
    const { body } = await read(follower, job);
    assert.partialDeepStrictEqual(body, percent(10));
    assert.deepEqual(body, (await read(leader, job)).body);
    assert.equal(await follower.metric("open_streams"), 1);

    assert.equal((await job.push(follower, 20)).status, 200);
    assert.partialDeepStrictEqual(await events.next(), event(20));
    await showsProgress(job, 20);
    await leader.manager.stop();
    await until("the follower leads", () => follower.manager.leading());
    // The new owner was pushed nothing yet: the object says what is known.
    const { body: own } = await until("an answer of the new owner", async () => {
      const answer = await read(follower, job);
      return answer.status === 200 ? answer : undefined;
    });
    assert.partialDeepStrictEqual(own, percent(20));
    assert.ok(typeof own === "object" && own !== null && !("pod" in own), "of no pod");

    assert.equal((await job.push(follower, 30)).status, 200);
    assert.partialDeepStrictEqual(await events.next(), event(30));
    assert.equal(await follower.metric("reads_total", '{kind="watch",result="accepted"}'), 1);
  });
});

Deno.test("a paused owner answers no read, and a follower without an owner says so", async () => {
  await withReplicas(async ({ plane, start }) => {
    const replicas = [await start("a"), await start("b")];
    const { leader, followers: [follower] } = await leaderAmong(replicas);
    assert.ok(follower);
    const job = await pusher(plane, "paused");
    assert.equal((await job.push(leader, 10)).status, 200);
    leader.cutOff();
    follower.cutOff();
    // Past the renew deadline by its own clock; nobody else can take the lease.
    leader.pause(60_000);
    for (const replica of [leader, follower]) {
      const { status, retryAfter } = await read(replica, job);
      assert.equal(status, 503);
      assert.match(retryAfter ?? "", /^\d+$/);
    }
  });
});
