/** Plan of a pass over a v1 job: what the pass has observed, and what it does. */
import type { Pod, Service } from "../../platform/kube/kubernetes.ts";
import type { V1Status } from "../../crds/v1/job.ts";
import type { JobCount } from "./job_metrics.ts";
import type { JobChild, KindRules } from "./kind_rules.ts";
import type { ReplicaPlan } from "./replica_plan.ts";
import type { Run } from "./run.ts";
import type { Failures, Notice } from "./verdict.ts";

/** A job as a pass has observed it. */
export interface ObservedRun {
  readonly run: Run;
  readonly rules: KindRules;
  readonly pods: readonly Pod[];
  readonly services: readonly Service[];
  /** Failed pods that were made again so far. */
  readonly recreations: number;
  /** Every CA that pods shall trust, as PEM. Absent: pods report no progress. */
  readonly caBundle?: string | undefined;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
}

/** What a pass does. */
export interface Plan extends Omit<ReplicaPlan, keyof Failures | "notices"> {
  /** The status; fields that are not the engine's are as they were. */
  readonly status: V1Status;
  /** The status if something cannot be deleted, claimed or created. Absent: it says nothing of what is. */
  readonly undone?: V1Status;
  /** Whether the status is written before anything is deleted, lest an interrupted pass forget why. */
  readonly statusFirst: boolean;
  /** Objects beside the pods and Services that the job needs now. */
  readonly children: readonly JobChild[];
  /** Whether the pods of a gang need their group. */
  readonly needsGroup: boolean;
  /** Such objects that are changed where the job has them, and not created: what they give must not outlive its pods. */
  readonly narrowed: readonly JobChild[];
  /** Such objects that a suspended job does not need. */
  readonly unwanted: readonly JobChild[];
  readonly notices: readonly Notice[];
  readonly counted: readonly JobCount[];
  readonly deleteJob: boolean;
  /** When the next pass is due whatever happens, in milliseconds since the epoch. */
  readonly nextMs?: number;
}

/** A plan that does nothing, but for the status. */
export const NOTHING = {
  createPods: [],
  createServices: [],
  deletePods: [],
  deleteServices: [],
  recreated: [],
  statusFirst: false,
  children: [],
  narrowed: [],
  unwanted: [],
  needsGroup: false,
  collected: 0,
  events: [],
  notices: [],
  counted: [],
  deleteJob: false,
} as const;
