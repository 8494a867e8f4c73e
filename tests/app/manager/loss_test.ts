/** Test of the acknowledged progress that is lost when its owner is killed, paused or shut down. */
import { startControlPlane } from "../../../app/standalone/control_plane.ts";
import { playLosses } from "../../support/loss_scenario.ts";
import { SIGNING_KEY } from "../../support/signing_key.ts";

Deno.test("a killed owner loses at most the pushes of the last jobs ÷ budget seconds, a stopped one nothing, and a woken one writes nothing", async () => {
  const plane = await startControlPlane({ port: 0, signingKey: SIGNING_KEY, kubelet: false });
  try {
    const { client, kubeconfig } = plane;
    await playLosses({ client, kubeconfig, jobs: 8, writesPerSecond: 8 });
  } finally {
    await plane.stop();
  }
});
