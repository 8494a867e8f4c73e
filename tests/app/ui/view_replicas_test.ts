/** Tests of curves read at a replica that is not the owner, through a change of the owner. */
import assert from "node:assert/strict";
import { z } from "zod";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { MANAGER } from "../../../crds/names.ts";
import { createDbManagerClient } from "../../../katib/log/db_manager_client.ts";
import { encodeJson } from "../../../katib/log/grpc_history.ts";
import { HISTORY_METHODS } from "../../../katib/log/wire.ts";
import { systemClock } from "../../../platform/base/clock.ts";
import { openEvents } from "../../support/event_client.ts";
import { observer, readObservation } from "../../support/observer.ts";
import { trainJob } from "../../support/standalone.ts";
import { until } from "../../support/until.ts";
import { leaderAmong, pusher, type Replica, withReplicas } from "../manager/replicas.ts";
import { withLoggedReplicas } from "../trials/shared_log.ts";

const curvesSchema = z.object({
  curves: z.array(z.object({
    metrics: z.array(z.object({
      name: z.string(),
      isProgress: z.boolean().optional(),
      points: z.array(z.array(z.number())),
    })),
    marks: z.array(z.object({ kind: z.string() })),
  })),
});

const pathOf = (name: string) => `/view/v1/curves?job=${TRAINJOB.id}/default/${name}`;

/** Reads the curves of a job; undefined while the replica has no answer. */
async function read({ status, manager }: Replica, name: string, token: string) {
  const at = { status, caBundle: manager.caBundle };
  const answer = await readObservation(at, pathOf(name), { token });
  assert.ok(answer.status === 200 || answer.status === 503, JSON.stringify(answer.body));
  if (answer.status === 503) return undefined;
  const [curves] = curvesSchema.parse(answer.body).curves;
  const loss = curves?.metrics.find((it) => it.name === "loss")?.points ?? [];
  const progress = curves?.metrics.find((it) => it.isProgress)?.points.at(-1)?.[3];
  return { last: loss.at(-1)?.[3], points: loss.length, marks: curves?.marks ?? [], progress };
}

const viewer = (client: Parameters<typeof observer>[0]) =>
  observer(client, "viewer", TRAINJOB, ["get", "list"]);

Deno.test("a follower shows the owner's curves, and the next owner's behind a mark of the gap", () =>
  withReplicas(async ({ plane, start }) => {
    const replicas = [await start("a"), await start("b")];
    const { leader, followers: [follower] } = await leaderAmong(replicas);
    assert.ok(follower);
    const { token } = await viewer(plane.client);
    const job = await pusher(plane, "watched");
    assert.equal((await job.push(leader, 10, undefined, { loss: "0.5" })).status, 200);
    assert.equal((await read(follower, "watched", token))?.last, 0.5);

    const path = `/view/v1/events?namespace=default&job=${TRAINJOB.id}/default/watched`;
    await using events = await openEvents(follower.status + path, {
      token,
      ca: follower.manager.caBundle(),
    });
    /** Waits for an event whose curves end with that value. */
    async function curveWith(value: number): Promise<void> {
      for (let heard = await events.next(); "data" in heard; heard = await events.next()) {
        if (heard.event === "curves" && JSON.stringify(heard.data).includes(`,${value}]]`)) return;
      }
      assert.fail("the stream has ended");
    }
    await curveWith(0.5);
    assert.equal((await job.push(follower, 20, undefined, { loss: "0.25" })).status, 200);
    await curveWith(0.25);

    // What the object shows tells the next owner that there was more.
    await until("the progress is on the job", async () => {
      const { status } = await plane.client.get(KINDS.trainJob, {
        namespace: "default",
        name: "watched",
      });
      return status?.trainerStatus?.progressPercentage === 20;
    });
    await leader.manager.stop();
    await until("the follower leads", () => follower.manager.leading());
    await until(
      "a push is taken by the new owner",
      async () => (await job.push(follower, 30, undefined, { loss: "0.125" })).status === 200,
    );
    await curveWith(0.125);
    const after = await read(follower, "watched", token);
    assert.deepEqual(after?.marks.map(({ kind }) => kind), ["gap"]);
    assert.equal(after?.points, 1);
  }));

/** Rules make the log the job's own business. */
const RECORDED = JSON.stringify({
  objective: { name: "loss", type: "minimize" },
  rules: [{ name: "loss", value: "1000", comparison: "greater" }],
});

/** Reads what the manager keeps beside the log of a job, with the manager's certificate. */
async function keptBeside(port: number, folder: string, log: string): Promise<string> {
  const [cert, key, ca] = ["tls.crt", "tls.key", "ca.crt"].map((name) =>
    Deno.readTextFileSync(`${folder}/${name}`)
  );
  assert.ok(cert && key && ca);
  const client = createDbManagerClient({
    address: `127.0.0.1:${port}`,
    tls: () => ({ cert, key, ca, serverName: `${MANAGER.name}.${MANAGER.namespace}.svc` }),
    clock: systemClock,
    deadlineMs: 20_000,
  });
  try {
    const body = encodeJson({ log });
    return String(await client.call(HISTORY_METHODS.read, body, AbortSignal.timeout(20_000)));
  } finally {
    client.close();
  }
}

Deno.test("the owner after one that was cut off shows the curves of its jobs, with progress, steps and marks", async () => {
  await withLoggedReplicas(
    ["a", "b"],
    async ({ plane, port, folder, leader, followers: [follower] }) => {
      assert.ok(follower);
      const { token } = await viewer(plane.client);
      const annotations = { "trainer.kubeflow.org/early-stopping": RECORDED };
      const { metadata: { uid } } = await plane.client.create(
        KINDS.trainJob,
        trainJob("ruled", "plain", { annotations }),
      );
      const job = await pusher(plane, "ruled", { exists: true });
      for (const loss of ["0.5", "0.25"]) {
        await until(
          `the push of ${loss}`,
          async () => (await job.push(leader, 10, undefined, { loss })).status === 200,
        );
      }
      const key = { namespace: "default", name: "ruled" };
      await plane.client.patch(KINDS.trainJob, key, {
        type: "merge",
        body: { spec: { suspend: true } },
      });
      const marks = await until("the suspension is a mark", async () => {
        const { marks = [] } = await read(leader, "ruled", token) ?? {};
        return marks.length > 0 && marks;
      }, { timeoutMs: 30_000 });
      await until("that is kept", async () => {
        const text = await keptBeside(port, folder, `default/ruled/${uid}`);
        return text.includes("suspended") && text.includes("progress");
      });
      leader.cutOff();
      await until("the follower leads", () => follower.manager.leading(), { timeoutMs: 30_000 });
      const restored = await until("the curve is there again", async () => {
        const curves = await read(follower, "ruled", token);
        return curves?.last === 0.25 && curves;
      }, { timeoutMs: 60_000 });
      assert.deepEqual([restored.progress, restored.marks], [10, marks]);
    },
  );
});
