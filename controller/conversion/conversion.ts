/** Result of the conversion of a v1 job, and the parts from which it is put together. */
import type { ReplicatedJob } from "../../crds/jobset.ts";
import type { MlPolicy, TrainingRuntime } from "../../crds/training_runtime.ts";
import type { TrainJob } from "../../crds/trainjob.ts";

/** A TrainJob and its runtime, with what a reader has to know of them; or the reasons why there are none. */
export type Conversion =
  | {
    readonly trainJob: TrainJob;
    readonly runtime: TrainingRuntime;
    /** What could not be carried over, and what is different; a sentence each. */
    readonly notes: readonly string[];
  }
  | {
    /** What would mean something else; each begins with the field. */
    readonly refusals: readonly string[];
  };

/** What a kind makes of its replicas. */
export interface Nodes {
  readonly mlPolicy: MlPolicy;
  readonly replicatedJobs: readonly ReplicatedJob[];
  /** Replicated jobs whose success is the TrainJob's. Default: all of them. */
  readonly successOf?: readonly string[];
  /** Nodes that the TrainJob counts; absent if the runtime says it. */
  readonly numNodes?: number;
  readonly numProcPerNode?: number;
  readonly notes: readonly string[];
}

/** Nodes, or the reasons why there are none. */
export type NodesOrRefusals = Nodes | { readonly refusals: readonly string[] };
