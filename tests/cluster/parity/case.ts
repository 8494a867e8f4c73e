/** Cases of a comparison, as plain values: the objects to create, and the steps that follow. */
import type { Target } from "./answers.ts";
import type { NamespaceView } from "./cluster_view.ts";
import type { Manifest } from "./manifest.ts";

/** Fate of the pods of a Job, in place of a kubelet. */
export interface PodFate {
  readonly job: string;
  readonly phase: "Running" | "Succeeded" | "Failed";
  /** Whether a running pod is ready. Default true. */
  readonly ready?: boolean;
  /** Completion indexes. Default: every pod of the Job. */
  readonly indexes?: readonly number[];
  /** The Job that was made at this restart of its JobSet. Default: any. */
  readonly attempt?: number;
  /** Exit code of the containers of a failed pod. Default 1. */
  readonly exitCode?: number;
}

/** State of one pod, in place of a kubelet. */
export interface PodState {
  readonly name: string;
  readonly phase: "Running" | "Succeeded" | "Failed";
  /** Exit code of the containers of a pod that has ended. Default 1 if it failed. */
  readonly exitCode?: number;
  /** How often each container was started again. Default 0. */
  readonly restartCount?: number;
  /** State of the containers, in place of the one that fits the phase. */
  readonly containerState?: Readonly<Record<string, unknown>>;
}

/** One thing that is done. */
export type Action =
  | { readonly does: "create"; readonly object: Manifest }
  | { readonly does: "patch"; readonly target: Target; readonly body: unknown }
  | { readonly does: "remove"; readonly target: Target }
  | { readonly does: "pods"; readonly fate: PodFate }
  | { readonly does: "pod"; readonly state: PodState };

/** Things done one after the other; then both sides are looked at. */
export interface Step {
  readonly actions: readonly Action[];
  /** What is waited for before the looking; a side on which it does not come is looked at all the same. */
  readonly until?: (view: NamespaceView) => boolean;
}

/** Cases by the sentence that says what they are about. */
export type CaseTable = Readonly<Record<string, readonly Step[]>>;
