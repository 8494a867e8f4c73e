/** Probes of one container in their order: startup first, then readiness and liveness. */
import type { Container } from "../../../platform/kube/kubernetes.ts";
import { type Probe, type ProbeResult, type Probing, verdicts } from "./probes.ts";

/** Notifications about a running container. */
export interface ProbeListener {
  onStarted(): void;
  onReady(ready: boolean): void;
  /** The container is to be ended. */
  onUnhealthy(probe: Probe, message: string): void;
}

/** Options of {@link superviseProbes}. */
export interface SuperviseOptions extends Probing {
  readonly container: Container;
  readonly listener: ProbeListener;
}

/** Asks the probes until the container ends. A container without probes is ready at once. */
export async function superviseProbes(options: SuperviseOptions): Promise<void> {
  const { startupProbe, readinessProbe, livenessProbe } = options.container;
  const { listener, signal } = options;
  if (startupProbe) {
    const { value: verdict } = await verdicts(startupProbe, options).next();
    if (signal.aborted || !verdict) return;
    if (!verdict.ok) return listener.onUnhealthy(startupProbe, verdict.message);
  }
  listener.onStarted();
  if (!readinessProbe) listener.onReady(true);
  const watch = async (
    probe: Probe | undefined,
    onVerdict: (result: ProbeResult, probe: Probe) => void,
  ) => {
    if (!probe) return;
    for await (const result of verdicts(probe, options)) onVerdict(result, probe);
  };
  await Promise.all([
    watch(readinessProbe, (result) => listener.onReady(result.ok)),
    watch(livenessProbe, (result, probe) => {
      if (!result.ok) listener.onUnhealthy(probe, result.message);
    }),
  ]);
}
