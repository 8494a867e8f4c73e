/** Patch that keeps Katib's webhook away from the pods of trials: for kubectl and for kustomize. */
import { stringify } from "yaml";
import { KATIB, KATIB_KEPT_OUT } from "../crds/katib_names.ts";
import { type Files, GENERATED, toYaml } from "./kustomize.ts";

/** The place of the pod webhook in the configuration that Katib ships; kustomize's JSON patches go by places. */
const POD_WEBHOOK_AT = 1;

/** A strategic merge patch: the API server merges webhooks and their conditions by name. */
const patch = {
  webhooks: [{ name: KATIB.podWebhook, matchConditions: [KATIB_KEPT_OUT] }],
};

/** Kustomize would replace all conditions by a merge patch: it does not know that they have names. */
const component = {
  apiVersion: "kustomize.config.k8s.io/v1alpha1",
  kind: "Component",
  patches: [{
    target: { kind: "MutatingWebhookConfiguration", name: KATIB.webhookConfiguration },
    patch: stringify([
      { op: "test", path: `/webhooks/${POD_WEBHOOK_AT}/name`, value: KATIB.podWebhook },
      { op: "add", path: `/webhooks/${POD_WEBHOOK_AT}/matchConditions/-`, value: KATIB_KEPT_OUT },
    ], { lineWidth: 0 }),
  }],
};

/** All files of `deploy/katib/`. */
export function katibFiles(): Files {
  return {
    "patch.yaml":
      `${GENERATED}# kubectl patch mutatingwebhookconfiguration ${KATIB.webhookConfiguration} --patch-file deploy/katib/patch.yaml\n${
        toYaml([patch])
      }`,
    "kustomization.yaml":
      `${GENERATED}# For the kustomization that installs Katib: \`components: [deploy/katib]\`.\n${
        toYaml([component])
      }`,
  };
}
