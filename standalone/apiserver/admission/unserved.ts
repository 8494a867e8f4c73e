/** Kinds that this server stores and that nothing here acts upon: whoever makes one is warned. */

/** What is not done for an object of a kind, by `group/plural`. */
const UNSERVED: Readonly<Record<string, string>> = {
  "/replicationcontrollers": "no pods are made of it",
  "/resourcequotas": "no quota is counted",
  "/limitranges": "no limits are set by it",
  "/persistentvolumeclaims": "no volume is bound to it",
  "admissionregistration.k8s.io/validatingadmissionpolicies": "no policy is evaluated",
  "admissionregistration.k8s.io/validatingadmissionpolicybindings": "no policy is evaluated",
  "apps/daemonsets": "no pods are made of it",
  "apps/deployments": "no pods are made of it",
  "apps/replicasets": "no pods are made of it",
  "apps/statefulsets": "no pods are made of it",
  "batch/cronjobs": "no Jobs are made of it",
  "networking.k8s.io/ingresses": "no traffic is routed by it",
  "networking.k8s.io/networkpolicies": "no traffic is held to it",
  "policy/poddisruptionbudgets": "evictions do not look at it",
};

/** The warning to whoever creates an object of a kind; undefined where something acts upon it. */
export function unservedWarning(
  { group, resource }: { group: string; resource: string },
): string | undefined {
  const what = UNSERVED[`${group}/${resource}`];
  return what === undefined ? undefined : `this server stores ${resource} only: ${what}`;
}
