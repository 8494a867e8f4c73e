/** Tests of trials through changes of the owner, with a log over the network: nothing is lost or doubled. */
import assert from "node:assert/strict";
import { z } from "zod";
import { createMetrics, sinkMetrics } from "../../../app/manager/metrics.ts";
import { createSink } from "../../../katib/log/sink_choice.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { statusPath } from "../../../crds/job_kind.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { systemClock } from "../../../platform/base/clock.ts";
import { freePort } from "../../support/free_port.ts";
import { lossAbove, trialThat } from "../../support/trials.ts";
import { until } from "../../support/until.ts";
import { leaderAmong, type Replica, withReplicas } from "../manager/replicas.ts";
import { startLog } from "./shared_log.ts";
import { has, metricsBody, podToken, prepareTrials, startTrial } from "./trial_support.ts";

const answerSchema = z.looseObject({ control: z.looseObject({ stop: z.boolean() }).optional() });

/** Pushes at a replica again and again, as clients do, until it is acknowledged. Returns its control. */
async function pushUntilTaken(
  replicas: () => readonly Replica[],
  job: string,
  token: string,
  body: unknown,
): Promise<boolean> {
  let turn = 0;
  return await until(`a push of ${job} is taken`, async () => {
    const all = replicas();
    const replica = all[turn++ % all.length];
    assert.ok(replica);
    using http = Deno.createHttpClient({ caCerts: [replica.manager.caBundle()] });
    const answer = await fetch(`${replica.status}${statusPath(TRAINJOB, "default", job)}`, {
      method: "POST",
      client: http,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(10_000),
    });
    const read: unknown = await answer.json();
    if (answer.status !== 200) return undefined;
    return { stop: answerSchema.parse(read).control?.stop ?? false };
  }, { everyMs: 100 }).then(({ stop }) => stop);
}

Deno.test("the next owner continues a trial's log, and stops the trial that the last one had decided to stop", async () => {
  const port = freePort();
  const address = `127.0.0.1:${port}`;
  const folder = await Deno.makeTempDir({ prefix: "milepost-log-" });
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => Deno.remove(folder, { recursive: true }));
  const reader = await createSink({
    setting: { kind: "grpc", address },
    katibDbManager: address,
    trialsExist: () => true,
    clock: systemClock,
    metrics: sinkMetrics(createMetrics()),
    deadlineMs: 5_000,
  });
  cleanup.defer(() => reader.close());
  await withReplicas(async ({ plane: { client }, start }) => {
    const options = { flags: { observationSink: `grpc:${address}` } };
    const first = await start("a", options);
    await prepareTrials(client);
    await using logCleanup = new AsyncDisposableStack();
    const running = await startLog(client, port, folder);
    logCleanup.defer(() => running.stop());
    const replicas = [first, await start("b", options)];
    const trials = [
      await startTrial(client, "t1", lossAbove("0.5", 3)),
      await startTrial(client, "t2", lossAbove("0.5", 3)),
    ];
    const { token } = await podToken(client, "t1", { runs: false });
    const { token: otherToken } = await podToken(client, "t2", { runs: false });
    const { leader, followers: [follower] } = await leaderAmong(replicas);
    assert.ok(follower);

    const bodies = ["0.9", "0.8", "0.7"].map((loss, step) =>
      metricsBody({ loss }, new Date(Date.now() - 10_000 + step * 1000).toISOString())
    );
    const anywhere = () => [follower, leader];
    for (const body of bodies.slice(0, 2)) {
      assert.equal(await pushUntilTaken(anywhere, "t1", token, body), false);
      // By the one that is going to be cut off: it has the token reviewed then.
      assert.equal(await pushUntilTaken(() => [leader], "t2", otherToken, body), false);
    }
    // It can decide, but not write what it has decided: the log takes the row, the API server nothing.
    const mend = leader.cutOff();
    const decided = await pushUntilTaken(() => [leader], "t2", otherToken, bodies[2]);
    assert.equal(decided, true);
    await until("the other replica leads", () => follower.manager.leading());
    // Nobody pushes for it any more.
    const stopped = await trialThat(client, "t2", "is stopped", (it) => has(it, "EarlyStopped"));
    assert.equal(stopped.status?.observation?.metrics?.[0]?.latest, "0.7");
    mend();

    // A retry of what the last owner took, then the report that decides.
    assert.equal(await pushUntilTaken(() => [follower], "t1", token, bodies[1]), false);
    assert.equal(await pushUntilTaken(() => [follower], "t1", token, bodies[2]), true);
    await trialThat(client, "t1", "is stopped", (it) => has(it, "EarlyStopped"));
    for (const { metadata } of trials) {
      const { namespace = "", name = "", uid = "" } = metadata;
      const rows = await reader.read(
        { kind: "trial", namespace, name, uid },
        AbortSignal.timeout(10_000),
      );
      assert.deepEqual(rows.map(({ value }) => value), ["0.9", "0.8", "0.7"], name);
    }
    const { items } = await client.list(KINDS.trial, { namespace: "default" });
    for (const { status } of items) {
      const stops = status?.conditions?.filter(({ type }) => type === "EarlyStopped");
      assert.equal(stops?.length, 1);
    }
    // A stop is counted when its job says so, too, which is after its Trial.
    await until(
      "both stops are counted",
      async () => await follower.metric("trials_stopped_total") === 2,
    );
  });
});
