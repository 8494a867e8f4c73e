/** Conformance of the validation of pods. */
import assert from "node:assert/strict";
import type { Answer, Case } from "./api.ts";
import { pod } from "./objects.ts";

const IMAGE = "example.com/i:1";

function one(more: Record<string, unknown>) {
  return { containers: [{ name: "c", image: IMAGE, ...more }] };
}

const VOLUME = { name: "v", emptyDir: {} };

/** Specs of pods, with the causes of their refusal: `reason field`. */
const SPECS: Record<string, { spec: Record<string, unknown>; causes: string[] }> = {
  "no containers": { spec: { containers: [] }, causes: ["FieldValueRequired spec.containers"] },
  "a container without a name": {
    spec: { containers: [{ image: IMAGE }] },
    causes: ["FieldValueRequired spec.containers[0].name"],
  },
  "a container without an image": {
    spec: { containers: [{ name: "c" }] },
    causes: ["FieldValueRequired spec.containers[0].image"],
  },
  "a container's name in capitals": {
    spec: { containers: [{ name: "C", image: IMAGE }] },
    causes: ["FieldValueInvalid spec.containers[0].name"],
  },
  "two containers of one name": {
    spec: { containers: [{ name: "c", image: IMAGE }, { name: "c", image: IMAGE }] },
    causes: ["FieldValueDuplicate spec.containers[1].name"],
  },
  "an image with spaces around": {
    spec: { containers: [{ name: "c", image: " i" }] },
    causes: ["FieldValueInvalid spec.containers[0].image"],
  },
  "an unknown restart policy": {
    spec: { restartPolicy: "Sometimes" },
    causes: ["FieldValueNotSupported spec.restartPolicy"],
  },
  "an unknown DNS policy": {
    spec: { dnsPolicy: "Oracle" },
    causes: ["FieldValueNotSupported spec.dnsPolicy"],
  },
  "a negative grace": {
    spec: { terminationGracePeriodSeconds: -1 },
    causes: [],
  },
  "a deadline of nothing": {
    spec: { activeDeadlineSeconds: 0 },
    causes: ["FieldValueInvalid spec.activeDeadlineSeconds"],
  },
  "an unknown pull policy": {
    spec: one({ imagePullPolicy: "Rarely" }),
    causes: ["FieldValueNotSupported spec.containers[0].imagePullPolicy"],
  },
  "a variable without a name": {
    spec: one({ env: [{ value: "x" }] }),
    causes: ["FieldValueRequired spec.containers[0].env[0].name"],
  },
  "a variable's name with =": {
    spec: one({ env: [{ name: "A=B", value: "x" }] }),
    causes: ["FieldValueInvalid spec.containers[0].env[0].name"],
  },
  "a variable with a value and a source": {
    spec: one({
      env: [{ name: "A", value: "x", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }],
    }),
    causes: ["FieldValueInvalid spec.containers[0].env[0].valueFrom"],
  },
  "a variable from an unknown field": {
    spec: one({ env: [{ name: "A", valueFrom: { fieldRef: { fieldPath: "spec.colour" } } }] }),
    causes: ["FieldValueInvalid spec.containers[0].env[0].valueFrom.fieldRef.fieldPath"],
  },
  "a mount without its volume": {
    spec: one({ volumeMounts: [{ name: "v", mountPath: "/v" }] }),
    causes: ["FieldValueNotFound spec.containers[0].volumeMounts[0].name"],
  },
  "a mount without a path": {
    spec: { ...one({ volumeMounts: [{ name: "v" }] }), volumes: [VOLUME] },
    causes: ["FieldValueRequired spec.containers[0].volumeMounts[0].mountPath"],
  },
  "two mounts at one path": {
    spec: {
      ...one({ volumeMounts: [{ name: "v", mountPath: "/v" }, { name: "v", mountPath: "/v" }] }),
      volumes: [VOLUME],
    },
    causes: ["FieldValueInvalid spec.containers[0].volumeMounts[1].mountPath"],
  },
  "two volumes of one name": {
    spec: { volumes: [VOLUME, VOLUME] },
    causes: ["FieldValueDuplicate spec.volumes[1].name"],
  },
  "a volume of two kinds": {
    spec: { volumes: [{ ...VOLUME, configMap: { name: "x" } }] },
    causes: ["FieldValueForbidden spec.volumes[0].configMap"],
  },
  "a volume of a Secret without a name": {
    spec: { volumes: [{ name: "v", secret: {} }] },
    causes: ["FieldValueRequired spec.volumes[0].secret.secretName"],
  },
  "a projected token without a path": {
    spec: { volumes: [{ name: "v", projected: { sources: [{ serviceAccountToken: {} }] } }] },
    causes: ["FieldValueRequired spec.volumes[0].projected.path"],
  },
  "a projected token that lives too short": {
    spec: {
      volumes: [{
        name: "v",
        projected: { sources: [{ serviceAccountToken: { path: "t", expirationSeconds: 60 } }] },
      }],
    },
    causes: [
      "FieldValueInvalid spec.volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds",
    ],
  },
  "a port over 65535": {
    spec: one({ ports: [{ containerPort: 70000 }] }),
    causes: ["FieldValueInvalid spec.containers[0].ports[0].containerPort"],
  },
  "two ports of one name": {
    spec: one({ ports: [{ name: "p", containerPort: 1 }, { name: "p", containerPort: 2 }] }),
    causes: ["FieldValueDuplicate spec.containers[0].ports[1].name"],
  },
  "an unknown protocol": {
    spec: one({ ports: [{ containerPort: 1, protocol: "IPX" }] }),
    causes: ["FieldValueNotSupported spec.containers[0].ports[0].protocol"],
  },
  "a request over its limit": {
    spec: one({ resources: { requests: { cpu: "2" }, limits: { cpu: "1" } } }),
    causes: ["FieldValueInvalid spec.containers[0].resources.requests"],
  },
  "a negative request": {
    spec: one({ resources: { requests: { memory: "-1" } } }),
    causes: ["FieldValueInvalid spec.containers[0].resources.requests[memory]"],
  },
  "a probe without a way": {
    spec: one({ livenessProbe: {} }),
    causes: ["FieldValueRequired spec.containers[0].livenessProbe"],
  },
  "a probe with two ways": {
    spec: one({ livenessProbe: { exec: { command: ["x"] }, httpGet: { port: 1 } } }),
    causes: ["FieldValueForbidden spec.containers[0].livenessProbe.httpGet"],
  },
  "a node selector that is no label": {
    spec: { nodeSelector: { "no label": "x" } },
    causes: ["FieldValueInvalid spec.nodeSelector"],
  },
  "a host name in capitals": {
    spec: { hostname: "Host" },
    causes: ["FieldValueInvalid spec.hostname"],
  },
  "a restart policy on an init container that is not Always": {
    spec: { initContainers: [{ name: "i", image: IMAGE, restartPolicy: "Sometimes" }] },
    causes: ["FieldValueNotSupported spec.initContainers[0].restartPolicy"],
  },
};

export const podValidation: Case[] = Object.entries(SPECS).map(([what, { spec, causes }]) => ({
  name: `a pod with ${what} is ${causes.length > 0 ? "invalid" : "taken"}`,
  async run(api) {
    const { status, body } = await api.call("POST", "pods?dryRun=All", { body: pod("a", spec) });
    const given = (body.details?.causes ?? []).map((cause: Answer) =>
      `${cause.reason} ${cause.field}`
    );
    assert.deepEqual(given, causes, body.message);
    assert.equal(status, causes.length > 0 ? 422 : 201);
  },
}));
