/** Access rules for the children of policies, each stated once for all policies that have such a child. */
import type { PolicyRule } from "../../../platform/kube/kubernetes.ts";

/** Rules for ConfigMaps that are corrected; to read and create them every manager may. */
export const CONFIG_MAP_RULES: readonly PolicyRule[] = [
  { apiGroups: [""], resources: ["configmaps"], verbs: ["patch"] },
];
