/** Dependencies that all pods of a kubelet share. */
import type { Pod } from "../../platform/kube/kubernetes.ts";
import type { Backoff } from "../../platform/base/backoff.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import type { Clock } from "../../platform/base/clock.ts";
import type { ClaimFolders } from "./volumes/claim_folders.ts";
import type { GpuPool } from "./gpus/gpu_pool.ts";
import type { RealPaths } from "./containers/container_paths.ts";
import type { PodFacts } from "./containers/field_refs.ts";
import type { EventText } from "../../platform/kube/event_object.ts";
import type { LaunchAgent } from "./launch_agent/launch_agent.ts";
import type { LogStore } from "./logs/logs.ts";
import type { NameTable } from "./names/name_replacement.ts";
import type { Processes } from "./processes/processes.ts";

/** The dependencies by name. */
export interface PodSurroundings {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly processes: Processes;
  readonly logs: LogStore;
  /** Removes the logs of a pod that is gone, or keeps them if they are those of a job. */
  readonly releaseLogs: (pod: Pod) => Promise<void>;
  /** Folder of the pods' folders. */
  readonly podsFolder: string;
  /** Folder of the pods' folders in memory. */
  readonly memoryFolder: string;
  readonly node: Pick<PodFacts, "hostIP" | "nodeName" | "allocatable">;
  readonly baseEnv: Readonly<Record<string, string>>;
  /** Variables of Services. */
  readonly services: Readonly<Record<string, string>>;
  /** Mount namespaces of containers; undefined if paths and names are rewritten. */
  readonly realPaths: RealPaths | undefined;
  /** GPUs of the node; undefined if pods see what the machine has. */
  readonly gpus: GpuPool | undefined;
  /** Folders of claims; undefined if pods with claims are refused. */
  readonly claims: ClaimFolders | undefined;
  /** The way from the launchers of MPI jobs to their nodes. */
  readonly launchAgent: LaunchAgent;
  readonly backOff: Backoff;
  /** How often ConfigMaps and Secrets that are mounted are read again, in milliseconds. */
  readonly refreshMs: number;
  readonly markPrefix: string;
  /** Aborts when the kubelet stops: calls end with it. */
  readonly signal: AbortSignal;
  /** Returns the table of names for the pods of a namespace. */
  readonly namesFor: (namespace: string) => NameTable;
  readonly recordEvent: (pod: Pod, event: EventText) => void;
}
