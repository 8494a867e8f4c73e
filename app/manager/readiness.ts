/** Readiness checks of a replica, and its gauges. */
import type { Clock } from "../../platform/base/clock.ts";
import { unsynced } from "./caches.ts";
import type { ReadinessCheck } from "./health.ts";
import type { ManagerContext, ManagerParts } from "./manager_parts.ts";
import type { PushServing } from "./pushes.ts";

/** Time between two checks while something waits for readiness, in milliseconds. */
const READY_POLL_MS = 10;

/** The phase of a manager. */
export interface Phase {
  certified: boolean;
  configured: boolean;
  stopping: boolean;
  pushes: PushServing | undefined;
}

/** The checks of `/readyz`, named so that an operator knows where to look. */
export function readinessChecks(
  { configuration }: ManagerContext,
  parts: ManagerParts,
  phase: Phase,
): ReadinessCheck[] {
  const withProgress = configuration.featureGates.trainJobProgress;
  return [
    { name: "shutting down", ready: () => !phase.stopping },
    { name: "certificates", ready: () => phase.certified },
    { name: "kinds of kubeflow.org/v1", ready: () => parts.v1Kinds.known },
    {
      get name() {
        return `caches (${unsynced(parts.caches).join(", ")})`;
      },
      ready: () => unsynced(parts.caches).length === 0,
    },
    {
      name: "keys of the API server",
      ready: () => phase.pushes === undefined ? !withProgress : phase.pushes.ready(),
    },
    { name: "leader election", ready: () => parts.leadership.known },
    // Only the leader writes them; a new version must be ready before the old leader goes.
    {
      name: "webhook configurations",
      ready: () => !parts.leadership.leading || phase.configured,
    },
  ];
}

/** Sets the gauges that are sampled. */
export function refreshGauges(
  { clock, metrics }: ManagerContext,
  parts: ManagerParts,
  phase: Phase,
): void {
  const { owned: { term }, certificates, leadership } = parts;
  if (phase.certified) {
    for (const [name, time] of Object.entries(certificates.current().expiry)) {
      metrics.certificateExpiry.set({ name }, Math.round((time - clock.now()) / 1000));
    }
  }
  metrics.leader.set(leadership.leading ? 1 : 0);
  metrics.jobsStalled.set(term?.stalls.stalled() ?? 0);
  metrics.ledgerPending.set(term?.ledger.pending() ?? 0);
  metrics.ledgerOldestSeconds.set(term?.ledger.oldestSeconds() ?? 0);
  metrics.trialsOpen.set(term?.observations?.openTrials() ?? 0);
}

/** Resolves when every check holds. Throws if `signal` aborts before. */
export async function becomeReady(
  checks: readonly ReadinessCheck[],
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  while (!checks.every((it) => it.ready()) && !signal.aborted) {
    await clock.sleep(READY_POLL_MS, signal);
  }
  if (signal.aborted) throw new Error("the manager was stopped before it was ready");
}
