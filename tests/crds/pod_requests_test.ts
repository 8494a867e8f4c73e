/** Tests of `crds/pod_requests.ts`. */
import { deepEqual } from "node:assert/strict";
import { podRequests } from "../../crds/pod_requests.ts";
import type { Container, PodSpec } from "../../platform/kube/kubernetes.ts";

const asks = (requests: Record<string, string>, more: Partial<Container> = {}): Container => ({
  name: "c",
  resources: { requests },
  ...more,
});
const SIDECAR = { restartPolicy: "Always" };

const PODS: Record<string, { pod: PodSpec; want: Record<string, string> }> = {
  "nothing": { pod: { containers: [{ name: "c" }] }, want: {} },
  "the sum of containers": {
    pod: { containers: [asks({ cpu: "1", memory: "1Gi" }), asks({ cpu: "500m" })] },
    want: { cpu: "1500m", memory: "1Gi" },
  },
  "a limit without a request, such as of GPUs": {
    pod: {
      containers: [{
        name: "c",
        resources: { requests: { cpu: "1" }, limits: { cpu: "2", "nvidia.com/gpu": "4" } },
      }],
    },
    want: { cpu: "1", "nvidia.com/gpu": "4" },
  },
  "the hungriest init container": {
    pod: {
      containers: [asks({ cpu: "1" })],
      initContainers: [asks({ cpu: "3" }), asks({ cpu: "2", memory: "1Gi" })],
    },
    want: { cpu: "3", memory: "1Gi" },
  },
  "sidecars beside the containers": {
    pod: {
      containers: [asks({ cpu: "1" })],
      initContainers: [asks({ cpu: "500m" }, SIDECAR), asks({ cpu: "250m" }, SIDECAR)],
    },
    want: { cpu: "1750m" },
  },
  "an init container beside the sidecars before it, not those after it": {
    pod: {
      containers: [asks({ cpu: "1" })],
      initContainers: [
        asks({ cpu: "1" }, SIDECAR),
        asks({ cpu: "4" }),
        asks({ cpu: "1" }, SIDECAR),
      ],
    },
    want: { cpu: "5" },
  },
  "the overhead": {
    pod: { containers: [asks({ cpu: "1" })], overhead: { cpu: "250m", memory: "120Mi" } },
    want: { cpu: "1250m", memory: "120Mi" },
  },
  "requests of the pod as a whole before those of containers": {
    pod: {
      containers: [asks({ cpu: "1", memory: "1Gi", "nvidia.com/gpu": "1" })],
      resources: { requests: { cpu: "3" } },
    },
    want: { cpu: "3", memory: "1Gi", "nvidia.com/gpu": "1" },
  },
  "a limit of the pod as a whole if nothing requests the resource": {
    pod: {
      containers: [asks({ cpu: "1" })],
      resources: { limits: { cpu: "4", memory: "8Gi", "nvidia.com/gpu": "1" } },
    },
    want: { cpu: "1", memory: "8Gi" },
  },
};

for (const [what, { pod, want }] of Object.entries(PODS)) {
  Deno.test(`podRequests() counts ${what}`, () => deepEqual(podRequests(pod), want));
}
