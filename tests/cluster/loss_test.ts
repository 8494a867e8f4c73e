/** What the death, a pause and the end of the owner cost on a real API server, with the times that are shipped. */
import { playLosses } from "../support/loss_scenario.ts";
import { startControlPlane } from "./control_plane/control_plane.ts";
import { install } from "./support/installation.ts";

Deno.test("acknowledged progress is lost as documented, and no more, whatever ends its owner", async () => {
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
