/** Access rules for the children of policies, each stated once for all policies that have such a child. */
import type { PolicyRule } from "../../../crds/kubernetes.ts";

/** Rules for Secrets that are created once, such as keys. No rule lists or watches Secrets. */
export const SECRET_RULES: readonly PolicyRule[] = [
  { apiGroups: [""], resources: ["secrets"], verbs: ["get", "create"] },
];

/** Rules for ConfigMaps that are corrected; to read and create them every manager may. */
export const CONFIG_MAP_RULES: readonly PolicyRule[] = [
  { apiGroups: [""], resources: ["configmaps"], verbs: ["patch"] },
];
