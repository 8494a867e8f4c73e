/** Kinds that are stored but have no controller here; creating an object of one returns a warning. */

/** What is missing for each kind, by `group/plural`. */
const UNSERVED: Readonly<Record<string, string>> = {
  "/replicationcontrollers": "no controller creates its pods",
  "/resourcequotas": "quotas are not enforced",
  "/limitranges": "limits are not applied",
  "admissionregistration.k8s.io/validatingadmissionpolicies": "policies are not evaluated",
  "admissionregistration.k8s.io/validatingadmissionpolicybindings": "policies are not evaluated",
  "apps/daemonsets": "no controller creates its pods",
  "apps/deployments": "no controller creates its pods",
  "apps/replicasets": "no controller creates its pods",
  "apps/statefulsets": "no controller creates its pods",
  "batch/cronjobs": "no controller creates its Jobs",
  "networking.k8s.io/ingresses": "traffic is not routed",
  "networking.k8s.io/networkpolicies": "traffic is not restricted",
  "policy/poddisruptionbudgets": "evictions ignore it",
};

/** Returns the warning for a new object of a kind; undefined if a controller handles it. */
export function unservedWarning(
  { group, resource }: { group: string; resource: string },
): string | undefined {
  const what = UNSERVED[`${group}/${resource}`];
  return what === undefined ? undefined : `this server only stores ${resource}: ${what}`;
}
