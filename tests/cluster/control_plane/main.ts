/** `deno task cluster`: a real control plane on this machine until SIGTERM, for a kubectl of your own. */
import { aborted } from "../../../platform/base/aborted.ts";
import { stopSignal } from "../../../app/signals.ts";
import { startControlPlane } from "./control_plane.ts";

const signal = stopSignal();
const plane = await startControlPlane();
const ready = { ready: true, server: plane.server, kubeconfig: plane.kubeconfig };
await Deno.stdout.write(new TextEncoder().encode(`${JSON.stringify(ready)}\n`));
await aborted(signal);
await plane.stop();
