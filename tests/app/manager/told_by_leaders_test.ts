/** Test of `manager --notifications` in processes that gave up their permissions: a killed leader, and the next one. */
import assert from "node:assert/strict";
import { startControlPlane } from "../../../app/standalone/control_plane.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { SIGNING_KEY } from "../../support/signing_key.ts";
import { shellRuntime, trainJob } from "../../support/standalone.ts";
import { until } from "../../support/until.ts";
import { startManagerProcess } from "./manager_process.ts";

Deno.test("each leader tells a failure, under one id, and only after it leads", async () => {
  await using cleanup = new AsyncDisposableStack();
  const received: { readonly id: string | null; readonly body: string }[] = [];
  const options = { port: 0, hostname: "127.0.0.1", onListen: () => {} };
  const server = Deno.serve(options, async (request) => {
    received.push({ id: request.headers.get("Idempotency-Key"), body: await request.text() });
    return new Response("ok");
  });
  cleanup.defer(() => server.shutdown());
  const folder = await Deno.makeTempDir();
  cleanup.defer(() => Deno.remove(folder, { recursive: true }));
  const file = `${folder}/notifications.yaml`;
  await Deno.writeTextFile(file, "sinks: [{name: chat, form: slack, urlFile: url, texts: true}]");
  await Deno.writeTextFile(`${folder}/url`, `http://127.0.0.1:${server.addr.port}/SECRET\n`);
  const plane = await startControlPlane({ port: 0, signingKey: SIGNING_KEY, kubelet: false });
  cleanup.defer(() => plane.stop());
  const flags = [`--notifications=${file}`];
  const start = async (name: string) => {
    const manager = await startManagerProcess({ kubeconfig: plane.kubeconfig, name, flags });
    cleanup.defer(async () => void await manager.stop("SIGKILL").catch(() => {}));
    await until(`${name} is ready`, async () => (await manager.readyz()).code === 200);
    return manager;
  };
  const first = await start("first");
  const second = await start("second");
  await plane.client.create(KINDS.clusterTrainingRuntime, shellRuntime("slow", "sleep 100"));
  await plane.client.create(
    KINDS.trainJob,
    trainJob("late", "slow", { spec: { activeDeadlineSeconds: 1 } }),
  );
  await until("it is told", () => received.length > 0);
  assert.equal(received.length, 1);
  await first.stop("SIGKILL");
  await until("the next leader tells it again", () => received.length > 1);
  assert.equal(received[0]?.id, received[1]?.id);
  assert.match(received[0]?.id ?? "", /-Failed-20/);
  assert.match(received[0]?.body ?? "", /TrainJob `default\/late` failed at 20[^"]*\\n`/);
  await until(
    "it is counted",
    async () =>
      (await second.metrics()).includes(
        'milepost_notifications_total{sink="chat",result="sent"} 1',
      ),
  );
  assert.equal(/SECRET/.test(first.log() + second.log()), false);
});
