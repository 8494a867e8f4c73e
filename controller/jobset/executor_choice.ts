/** Choice of the JobSet executor: upstream's controller if it is installed, else the built-in one. */
import type { MutatingWebhookConfiguration } from "../../platform/kube/kubernetes.ts";
import { UPSTREAM_JOBSET_WEBHOOK } from "../../crds/jobset_names.ts";
import type { Informer } from "../../platform/kube/watching/informer.ts";
import type { Executor } from "../runtime/draft.ts";

/**
 * Returns the executor now: with `auto`, external while upstream's webhook configuration exists. Its CRD
 * by itself says nothing, since the built-in executor needs that too.
 */
export function executorOf(
  mode: "auto" | Executor,
  configurations: Pick<Informer<MutatingWebhookConfiguration>, "get">,
): Executor {
  if (mode !== "auto") return mode;
  return configurations.get({ name: UPSTREAM_JOBSET_WEBHOOK }) === undefined
    ? "builtin"
    : "external";
}
