/** Objects that a policy wants beside the JobSet of a TrainJob. */
import type { Kind, KubeObject } from "../../platform/kube/resource.ts";

/**
 * The fields of a child beside its name, namespace and owner, as a merge patch: fields that are not
 * named belong to others, such as the API server's defaults, and `null` is a field that must be absent.
 */
export interface ChildContent {
  readonly metadata?: {
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

interface ChildName {
  readonly kind: Kind<KubeObject>;
  /** In the TrainJob's namespace. */
  readonly name: string;
}

/** A child whose content follows the rendering. */
export interface FollowingChild extends ChildName {
  /** `equal`: at all times. `while-suspended`: until the JobSet runs. */
  readonly mode: "equal" | "while-suspended";
  readonly content: ChildContent;
  /** The part of the content that follows also when the JobSet runs. Default: nothing, the child is left alone. */
  readonly whileRunning?: ChildContent;
  /** Whether the kind is watched from the first such child on, as children with a scheduler of their own are. */
  readonly watched?: boolean;
}

/**
 * A child that is created once, such as a Secret with a key. Its content is made at creation; it is
 * never compared, read back or logged.
 */
export interface OnceChild extends ChildName {
  readonly mode: "once";
  readonly make: () => ChildContent | Promise<ChildContent>;
}

/** How far a replicated job is: its Jobs as the JobSet's status counts them, and its pods. */
export interface JobProgress {
  readonly readyJobs: number;
  readonly succeededJobs: number;
  readonly failedJobs: number;
  /** Pods that run, and pods that have succeeded, since the last restart of the JobSet. */
  readonly running: number;
  readonly succeeded: number;
}

/** How far a JobSet is. */
export interface Progress {
  /** Whether its Jobs were created again at least once. */
  readonly restarted: boolean;
  /** By the name of the replicated job; one that is absent has not begun. */
  readonly jobs: ReadonlyMap<string, JobProgress>;
}

/** A child of a TrainJob, with how it is kept. */
export type Child = FollowingChild | OnceChild;
