/** Clean-up of a v1 job that has ended: which pods go by its policy. Pure. */
import type { Pod } from "../../platform/kube/kubernetes.ts";
import type { Run } from "./run.ts";

const UNFINISHED: readonly (string | undefined)[] = ["Running", "Pending"];

/** Returns the pods of an ended job that its policy deletes, each with its Service. */
export function podsToClean({ cleanPodPolicy }: Run, pods: readonly Pod[]): readonly Pod[] {
  switch (cleanPodPolicy) {
    case "None":
      return [];
    case "Running":
      return pods.filter(({ status }) => UNFINISHED.includes(status?.phase));
    case "All":
      return pods;
  }
}
