/** A stand-in for Katib's pod webhook with the Push collector (kubeflow/katib: pkg/webhook/v1beta1/pod/inject_webhook.go). */
import { z } from "zod";
import { KATIB } from "../../../crds/katib_names.ts";
import { KINDS } from "../../../crds/kinds.ts";
import type { ControlPlane } from "../control_plane/control_plane.ts";

/** The stand-in, running. */
export interface KatibsWebhook {
  /** Names of the pods that it was asked about, in order. */
  readonly asked: readonly string[];
  close(): Promise<void>;
}

/** Every pod is one of this trial's. */
export interface KatibsTrial {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly primaryContainerName: string;
}

const podSchema = z.looseObject({
  metadata: z.looseObject({
    name: z.string().default("(named by the server)"),
    labels: z.record(z.string(), z.string()).default({}),
  }),
  spec: z.looseObject({
    containers: z.array(z.looseObject({ name: z.string(), env: z.array(z.unknown()).default([]) })),
  }),
});
type Pod = z.infer<typeof podSchema>;
const reviewSchema = z.looseObject({
  request: z.looseObject({ uid: z.string(), object: podSchema }),
});

const variable = {
  name: KATIB.trialNameEnv,
  valueFrom: { fieldRef: { fieldPath: `metadata.labels['${KATIB.trialLabel}']` } },
};

/** Labels merged over the pod's, and the variable appended to the primary container; or refused. */
function judge({ metadata, spec }: Pod, trial: KatibsTrial) {
  const at = spec.containers.findIndex(({ name }) => name === trial.primaryContainerName);
  const container = spec.containers[at];
  if (container === undefined) {
    const message = `Unable to find primary container ${trial.primaryContainerName}`;
    return { allowed: false, status: { code: 400, message } };
  }
  const labels = { ...metadata.labels, ...trial.labels, [KATIB.trialLabel]: trial.name };
  const patch = [
    { op: "add", path: "/metadata/labels", value: labels },
    { op: "add", path: `/spec/containers/${at}/env`, value: [...container.env, variable] },
  ];
  return { allowed: true, patchType: "JSONPatch", patch: btoa(JSON.stringify(patch)) };
}

/** The configuration that Katib ships, at a port of this machine; its name decides who is called first. */
function configuration(name: string, port: number, caPem: string) {
  const shared = {
    sideEffects: "None",
    admissionReviewVersions: ["v1"],
    clientConfig: { url: `https://127.0.0.1:${port}/`, caBundle: btoa(caPem) },
  };
  return {
    metadata: { name },
    webhooks: [
      {
        ...shared,
        name: "defaulter.experiment.katib.kubeflow.org",
        rules: [{
          apiGroups: [KATIB.group],
          apiVersions: [KATIB.version],
          operations: ["CREATE", "UPDATE"],
          resources: ["experiments"],
        }],
      },
      {
        ...shared,
        name: KATIB.podWebhook,
        namespaceSelector: {
          matchLabels: { "katib.kubeflow.org/metrics-collector-injection": "enabled" },
        },
        matchConditions: [{
          name: "exclude-katib-controller",
          expression:
            'request.userInfo.username != "system:serviceaccount:kubeflow:katib-controller"',
        }],
        rules: [{
          apiGroups: [""],
          apiVersions: ["v1"],
          operations: ["CREATE"],
          resources: ["pods"],
        }],
      },
    ],
  };
}

/** Starts it, and registers it by a configuration of that name. */
export async function startKatibsWebhook(
  plane: ControlPlane,
  trial: KatibsTrial,
  name: string = KATIB.webhookConfiguration,
): Promise<KatibsWebhook> {
  const { cert, key } = await plane.ca.server("katib-webhook", ["127.0.0.1"]);
  const asked: string[] = [];
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, cert, key, onListen: () => {} },
    async (request) => {
      const { uid, object } = reviewSchema.parse(await request.json()).request;
      asked.push(object.metadata.name);
      return Response.json({
        apiVersion: "admission.k8s.io/v1",
        kind: "AdmissionReview",
        response: { uid, ...judge(object, trial) },
      });
    },
  );
  const object = configuration(name, server.addr.port, plane.ca.cert);
  await plane.client.create(KINDS.mutatingWebhookConfiguration, object);
  return { asked, close: () => server.shutdown() };
}
