/** Check that Katib's pod webhook is kept away from the pods of trials that Milepost serves. Pure. */
import type { MutatingWebhookConfiguration } from "../platform/kube/kubernetes.ts";
import { KATIB_KEPT_OUT } from "../crds/katib_names.ts";
import { LABELS } from "../crds/names.ts";

type Webhook = NonNullable<MutatingWebhookConfiguration["webhooks"]>[number];
type Rule = NonNullable<Webhook["rules"]>[number];

const covers = (list: readonly string[] | undefined, item: string) =>
  list?.some((it) => it === "*" || it === item) ?? false;

/** Whether a rule asks for pods as they are created. */
function asksForPods(rule: Rule): boolean {
  return covers(rule.apiGroups, "") && covers(rule.operations, "CREATE") &&
    (covers(rule.resources, "pods") || covers(rule.resources, "*/*"));
}

/** An expression without what does not change its meaning: spaces, and the kind of quotes. */
const plain = (expression: string | undefined) =>
  expression?.replaceAll(/\s+/g, "").replaceAll("'", '"');

/** Whether the webhook is not called for pods with the trial label. */
function leavesTrialPods({ matchConditions, objectSelector }: Webhook): boolean {
  return (matchConditions?.some((it) =>
    plain(it.expression) === plain(KATIB_KEPT_OUT.expression)
  ) ??
    false) ||
    (objectSelector?.matchExpressions?.some(({ key, operator }) =>
      key === LABELS.trial && operator === "DoesNotExist"
    ) ?? false);
}

/**
 * Whether no webhook of this configuration is called for pods with Milepost's trial label, so that Katib
 * neither injects a collector into them nor denies those without the primary container. The patch of
 * `deploy/katib/` makes it so; a selector of objects to the same effect counts too. Where there is no
 * configuration (`undefined`) nothing has to be kept out.
 *
 * @param configuration Katib's, named `katib.kubeflow.org` (`KATIB.webhookConfiguration`)
 */
export function katibKeepsOut(
  configuration: Pick<MutatingWebhookConfiguration, "webhooks"> | undefined,
): boolean {
  const ofPods = configuration?.webhooks?.filter((it) => it.rules?.some(asksForPods) ?? false);
  return ofPods?.every(leavesTrialPods) ?? true;
}
