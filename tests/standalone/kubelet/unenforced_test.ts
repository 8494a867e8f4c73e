/** Tests of the warnings about fields of a pod that plain processes cannot enforce. */
import assert from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { unenforcedFields } from "../../../standalone/kubelet/unenforced.ts";

const cases: Record<string, { spec: object; want: string[] }> = {
  "nothing of a plain pod": { spec: { containers: [{ name: "c" }] }, want: [] },
  "limits": {
    spec: { containers: [{ name: "c", resources: { limits: { cpu: "1" } } }] },
    want: ["spec.containers[c].resources.limits"],
  },
  "not a limit of devices, which are counted": {
    spec: { containers: [{ name: "c", resources: { limits: { "nvidia.com/gpu": "1" } } }] },
    want: [],
  },
  "a read-only mount of what would last": {
    spec: {
      volumes: [{ name: "v", emptyDir: {} }],
      containers: [{ name: "c", volumeMounts: [{ name: "v", mountPath: "/v", readOnly: true }] }],
    },
    want: ["spec.containers[c].volumeMounts.readOnly"],
  },
  "not the read-only mount of a ConfigMap or of the injected identity": {
    spec: {
      volumes: [{ name: "v", configMap: { name: "x" } }, { name: "t", projected: { sources: [] } }],
      containers: [{
        name: "c",
        volumeMounts: [
          { name: "v", mountPath: "/v", readOnly: true },
          { name: "t", mountPath: "/t", readOnly: true },
        ],
      }],
    },
    want: [],
  },
  "not the memory of an emptyDir": {
    spec: {
      volumes: [{ name: "v", emptyDir: { medium: "Memory" } }],
      containers: [{ name: "c" }],
    },
    want: [],
  },
  "a bound of an emptyDir": {
    spec: { volumes: [{ name: "v", emptyDir: { sizeLimit: "1Gi" } }], containers: [{ name: "c" }] },
    want: ["spec.volumes[v].emptyDir"],
  },
};
for (const [sentence, { spec, want }] of Object.entries(cases)) {
  Deno.test(`unenforcedFields() names ${sentence}`, () => {
    const pod = KINDS.pod.parse({ metadata: { name: "p" }, spec });
    assert.deepEqual(unenforcedFields(pod), want);
  });
}
