/** CRDs of the pod groups of coscheduling and Volcano, which both sides of a comparison have. */
import type { ControlPlane } from "../control_plane/control_plane.ts";
import { moduleFolder } from "../control_plane/programs.ts";
import { install } from "./answers.ts";
import { readManifests } from "./loopback_webhooks.ts";
import type { Manifest } from "./manifest.ts";

const NETWORK_TOPOLOGY = {
  type: "object",
  properties: {
    mode: { type: "string", enum: ["hard", "soft"], default: "hard" },
    highestTierAllowed: { type: "integer", default: 1 },
  },
};

/** Volcano's API module has no manifests, so this has the fields of its types. */
const VOLCANO_CRD: Manifest = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "podgroups.scheduling.volcano.sh" },
  spec: {
    group: "scheduling.volcano.sh",
    names: {
      kind: "PodGroup",
      listKind: "PodGroupList",
      plural: "podgroups",
      singular: "podgroup",
    },
    scope: "Namespaced",
    versions: [{
      name: "v1beta1",
      served: true,
      storage: true,
      subresources: { status: {} },
      schema: {
        openAPIV3Schema: {
          type: "object",
          properties: {
            spec: {
              type: "object",
              properties: {
                minMember: { type: "integer", format: "int32" },
                minResources: {
                  type: "object",
                  additionalProperties: {
                    "anyOf": [{ type: "integer" }, { type: "string" }],
                    "x-kubernetes-int-or-string": true,
                  },
                },
                queue: { type: "string", default: "default" },
                priorityClassName: { type: "string" },
                networkTopology: NETWORK_TOPOLOGY,
              },
            },
            status: { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
          },
        },
      },
    }],
  },
};

/** Installs both. */
export async function installPodGroupCrds(plane: ControlPlane): Promise<void> {
  const plugins = await moduleFolder("trainer", "sigs.k8s.io/scheduler-plugins");
  const crd = `${plugins}/manifests/coscheduling/crd.yaml`;
  await install(plane.client, [...await readManifests(crd), VOLCANO_CRD]);
}
