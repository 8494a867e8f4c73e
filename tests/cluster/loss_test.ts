/** Test of the acknowledged progress that is lost on a real API server, with the shipped times of leader election. */
import assert from "node:assert/strict";
import { KINDS } from "../../crds/kinds.ts";
import { startManagerProcess } from "../app/manager/manager_process.ts";
import { startCrowd } from "../support/loss.ts";
import { playLosses } from "../support/loss_scenario.ts";
import { shellRuntime, trainJob } from "../support/standalone.ts";
import { until } from "../support/until.ts";
import { type ControlPlane, startControlPlane } from "./control_plane/control_plane.ts";
import { install } from "./support/installation.ts";

/** Stops the API server where it stands: connections stay, and nothing is answered. */
function freeze({ apiServer: { pid } }: ControlPlane): Disposable {
  assert.ok(pid !== undefined);
  Deno.kill(pid, "SIGSTOP");
  return { [Symbol.dispose]: () => Deno.kill(pid, "SIGCONT") };
}

Deno.test("no more acknowledged progress is lost than documented, however its owner ends", async () => {
  const plane = await startControlPlane();
  try {
    const { kubeconfig } = await install(plane);
    await playLosses({
      client: plane.client,
      kubeconfig,
      jobs: 30,
      writesPerSecond: 10,
      flags: ["--lease-duration=15s", "--renew-deadline=10s", "--retry-period=2s"],
    });
  } finally {
    await plane.stop();
  }
});

Deno.test("SIGTERM ends the owner within 10 s although the API server hangs, and it logs what is left", async () => {
  await using cleanup = new AsyncDisposableStack();
  const plane = await startControlPlane();
  cleanup.defer(() => plane.stop());
  const { client } = plane;
  const { kubeconfig } = await install(plane);
  const manager = await startManagerProcess({ kubeconfig, name: "only" });
  cleanup.defer(async () => {
    await manager.stop("SIGKILL").catch(() => {}); // It has ended where all went well.
  });
  await until("it is ready", async () => (await manager.readyz()).code === 200, {
    timeoutMs: 60_000,
  });
  await client.create(KINDS.clusterTrainingRuntime, shellRuntime("idle", "sleep 600"));
  const names = Array.from({ length: 20 }, (_, index) => `left-${index}`);
  for (const name of names) await client.create(KINDS.trainJob, trainJob(name, "idle"));
  const crowd = await startCrowd(client, names);
  cleanup.defer(() => crowd.stop());
  await crowd.pushOnce(manager.status);
  await until("all is written", () => crowd.allShown(), { timeoutMs: 60_000 });
  const { code, tookMs } = await (async () => {
    using _frozen = freeze(plane);
    await crowd.pushOnce(manager.status);
    return await manager.stop("SIGTERM");
  })();
  assert.equal(code, 0, manager.log());
  assert.ok(tookMs < 10_000, `took ${tookMs} ms`);
  assert.match(manager.log(), /"stopped with unwritten progress".*"jobs":20/);
});
