/** Objects that a policy wants beside the JobSet of a TrainJob. */
import type { KubeObject, ResourceKind } from "../../kube/resource.ts";

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
  readonly kind: ResourceKind<KubeObject>;
  /** In the TrainJob's namespace. */
  readonly name: string;
}

/** A child whose content follows the rendering. */
export interface FollowingChild extends ChildName {
  /** `equal`: at all times. `while-suspended`: until the JobSet runs; then it is left alone. */
  readonly mode: "equal" | "while-suspended";
  readonly content: ChildContent;
}

/**
 * A child that is created once, such as a Secret with a key. Its content is made at creation; it is
 * never compared, read back or logged.
 */
export interface OnceChild extends ChildName {
  readonly mode: "once";
  readonly make: () => ChildContent | Promise<ChildContent>;
}

/** A child of a TrainJob, with how it is kept. */
export type Child = FollowingChild | OnceChild;
