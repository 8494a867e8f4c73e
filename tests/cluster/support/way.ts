/** A manager that reaches the API server only through a faulty proxy. */
import { MANAGER } from "../../../crds/names.ts";
import type { ControlPlane } from "../control_plane/control_plane.ts";
import { type FaultyApi, startFaultyApi } from "./faulty_api.ts";
import { type Installation, serviceAccountToken, type TestManager } from "./installation.ts";

/**
 * So that a manager that is started again need not wait long for the lease of the one that was
 * killed. As flags.
 */
export const SHORT_LEASE = { leaseDuration: "3s", renewDeadline: "2s", retryPeriod: "400ms" };

/** Opens a faulty way and starts a manager, a process of its own, behind it. */
export async function startManagerBehind(
  plane: ControlPlane,
  installation: Installation,
  cleanup: AsyncDisposableStack,
): Promise<{ api: FaultyApi; manager: TestManager }> {
  const api = await startFaultyApi(plane);
  cleanup.defer(() => api.close());
  const account = { namespace: MANAGER.namespace, name: MANAGER.name };
  const token = await serviceAccountToken(plane.client, account);
  const kubeconfig = await api.kubeconfig("manager-behind-faults", token);
  const manager = await installation.startManager({ flags: { kubeconfig } });
  cleanup.defer(() => manager.kill());
  return { api, manager };
}

/** One series of a manager's metrics, 0 where it is not there yet; labels as in `{a="b"}`. */
export async function metricOf(manager: TestManager, series: string): Promise<number> {
  const answer = await fetch(`${manager.metricsUrl}/metrics`);
  const line = (await answer.text()).split("\n").find((it) => it.startsWith(`${series} `));
  return Number(line?.slice(series.length + 1) ?? 0);
}

/**
 * Restarts Kubernetes' own controllers: after an outage of the API server they back off for longer than
 * a test shall take.
 */
export async function restartControllers(
  { controllerManager, scheduler }: ControlPlane,
): Promise<void> {
  for (const program of [controllerManager, scheduler]) {
    await program.stop("SIGKILL");
    await program.start();
  }
}
