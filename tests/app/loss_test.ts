/** Test of the acknowledged progress that is lost when its owner is killed, paused or shut down. */
import { startControlPlane } from "../../app/standalone/control_plane.ts";
import { playLosses } from "../support/loss_scenario.ts";

Deno.test("the owner's death costs what jobs ÷ budget brought, its end nothing, its waking no harm", async () => {
  const plane = await startControlPlane({ port: 0, kubelet: false });
  try {
    const { client, kubeconfig } = plane;
    await playLosses({ client, kubeconfig, jobs: 8, writesPerSecond: 8 });
  } finally {
    await plane.stop();
  }
});
