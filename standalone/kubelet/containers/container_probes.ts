/** Probes of one container in their order: startup first, then readiness and liveness. */
import type { Container } from "../../../platform/kube/kubernetes.ts";
import type { Clock } from "../../../platform/base/clock.ts";
import { type Probe, type ProbeResult, type ProbeTarget, watchProbe } from "./probes.ts";

/** Notifications about a running container. */
export interface ProbeListener {
  onStarted(): void;
  onReady(ready: boolean): void;
  /** The container is to be ended. */
  onUnhealthy(probe: Probe, message: string): void;
}

/** Options of {@link superviseProbes}. */
export interface SuperviseOptions {
  readonly container: Container;
  readonly target: ProbeTarget;
  readonly clock: Clock;
  /** Aborts when the container ends. */
  readonly signal: AbortSignal;
  readonly listener: ProbeListener;
}

/** Resolves with the first verdict; undefined if the container ended before. */
async function firstVerdict(
  probe: Probe,
  { target, clock, signal }: SuperviseOptions,
): Promise<ProbeResult | undefined> {
  const decided = new AbortController();
  let verdict: ProbeResult | undefined;
  await watchProbe({
    probe,
    target,
    clock,
    signal: AbortSignal.any([signal, decided.signal]),
    onVerdict: (result) => {
      verdict = result;
      decided.abort();
    },
  });
  return verdict;
}

/** Asks the probes until the container ends. A container without probes is ready at once. */
export async function superviseProbes(options: SuperviseOptions): Promise<void> {
  const { container, target, clock, signal, listener } = options;
  const { startupProbe, readinessProbe, livenessProbe } = container;
  if (startupProbe) {
    const verdict = await firstVerdict(startupProbe, options);
    if (signal.aborted || verdict === undefined) return;
    if (!verdict.ok) return listener.onUnhealthy(startupProbe, verdict.message);
  }
  listener.onStarted();
  if (!readinessProbe) listener.onReady(true);
  const watch = (probe: Probe | undefined, onVerdict: (result: ProbeResult) => void) =>
    probe ? watchProbe({ probe, target, clock, signal, onVerdict }) : Promise.resolve();
  await Promise.all([
    watch(readinessProbe, (result) => listener.onReady(result.ok)),
    watch(livenessProbe, (result) => {
      if (!result.ok && livenessProbe) listener.onUnhealthy(livenessProbe, result.message);
    }),
  ]);
}
