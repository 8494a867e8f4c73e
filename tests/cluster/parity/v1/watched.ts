/** Kinds and waits that both sides of cases about v1 jobs have in common. */
import { V1_JOBS, type WatchedKind } from "../cluster_view.ts";

const BESIDE_JOBS: readonly WatchedKind[] = [
  "pods",
  "services",
  "configMaps",
  "events",
  "serviceAccounts",
  "roles",
  "roleBindings",
  "autoscalers",
];

/** The kinds, with those jobs that `served` has the CRDs of. */
export function watchedWith(served: (plural: typeof V1_JOBS[number]) => boolean): WatchedKind[] {
  return [...V1_JOBS.filter(served), ...BESIDE_JOBS];
}

/** Events come late on a busy machine, and they are compared at the end. */
export const V1_SIDE = { endQuietMs: 6_000 } as const;
