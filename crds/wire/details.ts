/** Details of one job, and what a viewer may do with it, as the page's server answers. Names and texts are what others wrote: hostile. */
import type { JsonObject } from "../../platform/base/json.ts";
import type { Setting } from "./row.ts";

/** A wait in words that stand behind "waits for". */
export interface WaitWords {
  /** Such as `1 nvidia.com/gpu`. */
  readonly for: string;
  /** What the scheduler or the kubelet says of it. */
  readonly why?: string;
  /** How much of which resources the pod asks for, of which no node has so much left. */
  readonly lacks?: Readonly<Record<string, string>>;
}

/** A pod. */
export interface ShownPod {
  readonly uid: string;
  readonly name: string;
  /** The group of pods that it is of, and its place there, such as `node-0` or `worker-0`. */
  readonly rank?: string;
  readonly phase: string;
  /** Why it is in that phase, or why a container of it waits. */
  readonly reason?: string;
  /** What it waits for before it runs, if it says so. */
  readonly waits?: WaitWords;
  readonly node?: string;
  readonly restarts: number;
  /** How the container that ended last did. */
  readonly exitCode?: number;
  /** Those that have logs, the first one first. */
  readonly containers: readonly string[];
  readonly started?: string;
  readonly deleting?: boolean;
  /** There is no such pod any more, and its log is kept. */
  readonly gone?: boolean;
  /** It is gone, and has printed nothing. */
  readonly isSilent?: boolean;
}

/** An event. */
export interface ShownEvent {
  /** What it is about, such as `Pod/mnist-node-0-0-x7k2p`. */
  readonly object: string;
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly count: number;
  /** RFC 3339. */
  readonly time?: string;
}

/** Parts of the details that may be denied to the viewer, or cut off. */
export type DetailPart = "pods" | "events";

/** What is shown of a job. */
export interface JobDetails {
  readonly object: JsonObject;
  /** With what it was started. */
  readonly configuration: readonly Setting[];
  readonly pods: readonly ShownPod[];
  /** What its pods wait for, such as `waits for 1 nvidia.com/gpu; this machine has 0`. */
  readonly wait?: string;
  /** The newest first. */
  readonly events: readonly ShownEvent[];
  /** What a program that failed said last, or Kubernetes of it; absent once that is history. */
  readonly lastWords?: string;
  /** Which restart of it would be the next one; absent where it cannot be restarted now. */
  readonly nextRestart?: number;
  /** Whether logs outlive their pods. */
  readonly keepsLogs?: boolean;
  /** What the viewer may not read: then there is none of it here. */
  readonly denied?: readonly DetailPart[];
  /** What there is more of than this. */
  readonly cut?: readonly DetailPart[];
}

/** What the viewer may do with a job. */
export interface JobRights {
  readonly suspend: boolean;
  readonly resume: boolean;
  readonly stop: boolean;
  readonly restart: boolean;
  readonly delete: boolean;
}

/** What the page says of where it runs. */
export interface PageFacts {
  readonly user: string;
  /** URL of the API server. */
  readonly server: string;
  /** What is not shown, and why, as sentences. */
  readonly missing?: readonly string[];
}
