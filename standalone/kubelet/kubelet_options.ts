/** Options of the kubelet. */
import type { Backoff } from "../../platform/base/backoff.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import type { Clock } from "../../platform/base/clock.ts";
import type { Gpu } from "./gpus/visible_gpus.ts";
import type { EventRecorder } from "../../platform/kube/events.ts";
import type { LogKeeping } from "./logs/log_keeper.ts";

/** Options of `startKubelet()`. */
export interface KubeletOptions {
  readonly client: KubeClient;
  readonly nodeName: string;
  /** Folder for pods and logs. */
  readonly dataDir: string;
  readonly clock?: Clock;
  readonly events?: Pick<EventRecorder, "record">;
  /** Address of the node that the API reports. Default: the machine's first address, else 127.0.0.1. */
  readonly hostIP?: string;
  /** Port of the log endpoint that the node reports; none if nothing serves logs. */
  readonly endpointPort?: number;
  /**
   * GPUs for pods, of which each gets its own to see. Without the list CUDA_VISIBLE_DEVICES of
   * containers is not touched.
   */
  readonly gpus?: readonly Gpu[];
  /**
   * Whether PersistentVolumeClaims are folders of this machine, which only holds where it is the one node.
   * Default false: pods with claims are refused.
   */
  readonly claimsAreFolders?: boolean;
  /** Restarts of containers. Default 10 s, doubling to 5 minutes. */
  readonly backOff?: Backoff;
  /** How often mounted ConfigMaps and Secrets are read again, in milliseconds. Default 10000. */
  readonly refreshMs?: number;
  /** How long `Kubelet.close()` waits between SIGTERM and SIGKILL, in milliseconds. Default 2000. */
  readonly closeGraceMs?: number;
  /** URL by which containers reach the API server. Without it they have no `KUBERNETES_SERVICE_HOST`. */
  readonly apiServer?: string;
  /** Variables that every container has, over the kubelet's own choice; containers' own win. */
  readonly environment?: Readonly<Record<string, string>>;
  /**
   * Whether mount paths and Service names are real inside containers, where this machine allows mount
   * namespaces; otherwise they are rewritten in commands and variables. Default true.
   */
  readonly mountNamespaces?: boolean;
  /** Keeps logs of jobs whose pods are gone. Without it a pod's logs go with the pod. */
  readonly logKeeping?: LogKeeping;
  /** Puts a command of the program into a folder of the containers' search path. */
  readonly provideCommand?: (folder: string) => void;
}
