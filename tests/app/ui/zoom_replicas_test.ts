/** Test of zooming at a replica that is not the owner, into a log on a server of its own. */
import assert from "node:assert/strict";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { observer } from "../../support/observer.ts";
import { trainJob } from "../../support/standalone.ts";
import { until } from "../../support/until.ts";
import { pusher } from "../manager/replicas.ts";
import { withLoggedReplicas } from "../trials/shared_log.ts";
import { exactPoints, pushHistory, readCurve } from "./zoom_support.ts";

const RULES = JSON.stringify({
  objective: { name: "loss", type: "minimize" },
  rules: [{ name: "loss", value: "1000000", comparison: "greater" }],
});

Deno.test("a follower shows points of the log that the owner reads over gRPC, and the next owner the same", async () => {
  await withLoggedReplicas(["a", "b"], async ({ plane, leader, followers: [follower] }) => {
    assert.ok(follower);
    const { token } = await observer(plane.client, "viewer", TRAINJOB, ["get", "list"]);
    const annotations = { "trainer.kubeflow.org/early-stopping": RULES };
    await plane.client.create(KINDS.trainJob, trainJob("long", "plain", { annotations }));
    const job = await pusher(plane, "long", { exists: true });
    const endMs = Date.now();
    const samples = Array.from({ length: 1_000 }, (_, n) => ({
      ms: endMs - (1_000 - n) * 1_000,
      value: n + 0.25,
    }));
    const at = (replica: typeof leader) => ({
      status: replica.status,
      caBundle: replica.manager.caBundle,
    });
    const history = samples.map(({ ms, value }) => ({
      lastUpdatedTime: new Date(ms).toISOString(),
      metrics: [{ name: "loss", value: String(value) }],
    }));
    await until(
      "the history is taken",
      async () => await pushHistory(at(leader), { job: "long", token: job.token }, history) === 200,
    );
    const read = (replica: typeof leader, range?: { fromMs: number; toMs: number }) =>
      readCurve(at(replica), { job: "long", token, metric: "loss" }, range);
    const range = { fromMs: endMs - 500_000, toMs: endMs - 420_000 };
    const coarse = await read(leader);
    assert.ok((coarse?.points.length ?? 0) <= 128);
    const seen = await read(follower, range);
    assert.deepEqual([seen?.source, seen?.cut], ["log", undefined]);
    assert.deepEqual(seen?.points, exactPoints(samples, range));
    assert.deepEqual(await read(leader, range), seen);

    await leader.manager.stop();
    await until("the follower leads", () => follower.manager.leading());
    await until("the next owner shows the same", async () => {
      const again = await read(follower, range).catch(() => undefined);
      return again?.source === "log" && JSON.stringify(again) === JSON.stringify(seen);
    }, { timeoutMs: 60_000 });
  });
});
