/** Rules of a v1 kind: in what the engine does differently for it. */
import type { Container, EnvVar, Pod, PodSpec } from "../../platform/kube/kubernetes.ts";
import type { V1Kind } from "../../crds/v1/kinds.ts";
import type { Kind, KubeObject } from "../../platform/kube/resource.ts";
import type { PodList } from "../job_bounds.ts";
import type { Replica, Run } from "./run.ts";

/** Counts of a type without pods. */
export const NO_PODS = {
  active: 0,
  succeeded: 0,
  failed: 0,
  /** Failed pods that are not to be made again: they end the job. */
  permanent: 0,
  /** Failed pods that are to be deleted and made again. */
  toRestart: 0,
  /** Of those that count as failed the ones that ran when somebody deleted them. */
  drained: 0,
};
/** How many pods of a type are in which phase; a pod that is being deleted counts as failed. */
export type Counts = Readonly<typeof NO_PODS>;

/** What is judged: the pods of a job by type and index, and the counts of each type. */
export interface PodsByType {
  readonly counts: ReadonlyMap<string, Counts>;
  /** By type, the indexes that have succeeded; the counts have those whose pods are gone, too. */
  readonly completed: ReadonlyMap<string, ReadonlySet<number>>;
  /** The pods of a type by their indexes, the first one first; of an index with several there is none. */
  pods(type: string): readonly { readonly index: number; readonly pod: Pod }[];
  pod(type: string, index: number): Pod | undefined;
}

/** How one type speaks for the job. */
export interface TypeVerdict {
  readonly running: boolean;
  readonly succeeded: boolean;
  /** Whether its permanently failed pods fail the job. */
  readonly failed: boolean;
}

/** An object beside the pods and Services of a job, which the job controls. */
export interface JobChild {
  readonly kind: Kind<KubeObject>;
  readonly object: KubeObject;
  /** Its fields that follow the job after its creation. Default: none. */
  readonly changes?: readonly string[];
  /** Whether it is changed where the job has it, and not created. Default false. */
  readonly isOnlyChanged?: boolean;
}

/** The rules; all are functions from values to values. */
export interface KindRules {
  readonly kind: V1Kind;
  /** The variables of a replica, after the user's own. */
  environment(run: Run, replica: Replica): readonly EnvVar[];
  /** Whether only the container that trains gets them. Default: every container of the pod. */
  readonly onlyTrainingContainer?: boolean;
  /** Whether only the first container of the pod gets them. Default false. */
  readonly onlyFirstContainer?: boolean;
  /** Whether the pod speaks for the job: it gets the role `master`. */
  isMaster(run: Run, replica: Replica): boolean;
  /** Containers that are added after the user's init containers. Default: none. */
  initContainers?(run: Run, replica: Replica): readonly Container[];
  /** Changes the spec of a replica's pod, which has everything else. Default: it stays. */
  shape?(run: Run, replica: Replica, spec: PodSpec): PodSpec;
  /** Objects that the job needs besides its pods and Services, before them. Default: none. */
  children?(run: Run, byType: PodsByType): readonly JobChild[];
  /**
   * Those of them that give rights to pods of the job that are there. They follow the pods of a job that does not run,
   * too: another's pod may get the name of one that is gone. Default: none.
   */
  grants?(run: Run, byType: PodsByType): readonly JobChild[];
  /** Whether the pod is created when all others of the job are there, and the objects that it needs. Default false. */
  isLast?(run: Run, replica: Replica): boolean;
  /** The texts that name every pod, of a job that does not ask for too many. Default: none. */
  podLists?(run: Run): readonly Pick<PodList, "name" | "pieces" | "maxBytes">[];
  /** What a type, which the job has, says of the job; asked in the order of the kind's table. */
  judge(run: Run, type: string, byType: PodsByType): TypeVerdict;
  /** Whether `<ns>/<name>` stands in the messages of conditions, instead of only the name. */
  namesNamespace(run: Run): boolean;
}
