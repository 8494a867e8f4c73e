/** Tests of waits of pods in words. */
import { deepEqual } from "node:assert/strict";
import { KINDS } from "../../crds/kinds.ts";
import { waitWords } from "../../crds/wait_of_pod.ts";
import type { WaitWords } from "../../crds/wire/details.ts";

const GPU = "nvidia.com/gpu";
const asks = (limits: Record<string, string>, more: object = {}) => ({
  containers: [{ name: "node", resources: { limits } }],
  ...more,
});
const unplaced = (message: string, reason = "Unschedulable") => ({
  conditions: [{ type: "PodScheduled", status: "False", reason, message }],
});
const waiting = (reason: string, message?: string) => ({
  containerStatuses: [{ name: "node", image: "acme/x:1", state: { waiting: { reason, message } } }],
});

const LACKS_GPU = `0/1 nodes are available: 1 Insufficient ${GPU}`;
const TAINTED = "0/3 nodes are available: 1 node(s) had untolerated taint {a: b}, 2 Insufficient";
const KUEUE = { schedulingGates: [{ name: "kueue.x-k8s.io/topology" }] };
const WAITS: Record<string, [spec: object, status: object, want: WaitWords | undefined]> = {
  "a resource that the node lacks": [
    asks({ [GPU]: "1" }),
    unplaced(`${LACKS_GPU}.`),
    { for: `1 ${GPU}`, why: LACKS_GPU, lacks: { [GPU]: "1" } },
  ],
  "no remark of Kubernetes' scheduler": [
    asks({ cpu: "64" }),
    unplaced(
      `${TAINTED} cpu. no new claims to deallocate, preemption: 0/3 nodes are available: ` +
        "1 Preemption is not helpful for scheduling, 2 No preemption victims found for incoming pod.",
    ),
    { for: "64 cpu", why: `${TAINTED} cpu`, lacks: { cpu: "64" } },
  ],
  "two resources, and not one that the pod does not lack": [
    asks({ [GPU]: "8", memory: "512Gi", cpu: "1" }),
    unplaced(`0/1 nodes are available: 1 Insufficient memory, 1 Insufficient ${GPU}.`),
    {
      for: `8 ${GPU} and 512Gi memory`,
      why: `0/1 nodes are available: 1 Insufficient memory, 1 Insufficient ${GPU}`,
      lacks: { [GPU]: "8", memory: "512Gi" },
    },
  ],
  "a node that matches": [
    asks({}),
    unplaced("0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."),
    {
      for: "a node",
      why: "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector",
    },
  ],
  "scheduling gates": [
    asks({}, KUEUE),
    unplaced("Scheduling is blocked", "SchedulingGated"),
    { for: "its scheduling gates to be lifted: kueue.x-k8s.io/topology" },
  ],
  "a scheduler that is not there": [
    asks({}, { schedulerName: "volcano" }),
    {},
    { for: "the scheduler volcano", why: "it has not said anything about the pod" },
  ],
  "an image": [
    asks({}, { nodeName: "n" }),
    waiting("ImagePullBackOff", 'Back-off pulling image "acme/x:1"'),
    { for: "image acme/x:1", why: 'ImagePullBackOff: Back-off pulling image "acme/x:1"' },
  ],
  "a ConfigMap": [
    asks({}, { nodeName: "n" }),
    waiting("CreateContainerConfigError", 'configmap "c" not found'),
    { for: "container node", why: 'CreateContainerConfigError: configmap "c" not found' },
  ],
  "nothing while it starts": [asks({}, { nodeName: "n" }), waiting("ContainerCreating"), undefined],
  "nothing before a scheduler has seen it": [asks({}), {}, undefined],
  "nothing once it runs": [
    asks({}, { nodeName: "n" }),
    { phase: "Running", ...waiting("CrashLoopBackOff", "back-off 10s") },
    undefined,
  ],
};
for (const [sentence, [spec, status, want]] of Object.entries(WAITS)) {
  Deno.test(`waitWords() names ${sentence}`, () => {
    const pod = { metadata: { name: "a" }, spec, status: { phase: "Pending", ...status } };
    deepEqual(waitWords(KINDS.pod.parse(pod)), want);
  });
}
