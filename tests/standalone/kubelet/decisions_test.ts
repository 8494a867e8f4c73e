/** Tests of the kubelet's decisions, by tables: plans, refusals, placements, back-off. */
import assert from "node:assert/strict";
import type { Pod, PodSpec } from "../../../platform/kube/kubernetes.ts";
import {
  type ContainerView,
  CRASH_BACK_OFF,
  planPod,
  type PodState,
  restartDelayMs,
} from "../../../standalone/kubelet/pod_plan.ts";
import { refuseOtherSystems } from "../../../standalone/kubelet/machine.ts";
import { refusalsOf } from "../../../standalone/kubelet/pod_refusals.ts";
import { inOrder, place } from "../../../standalone/kubelet/scheduler.ts";

function view(name: string, more: Partial<ContainerView> = {}): ContainerView {
  return {
    name,
    role: "main",
    phase: { kind: "waiting", reason: "" },
    restarts: 0,
    started: false,
    ready: false,
    notBefore: 0,
    ...more,
  };
}
const ended = (exitCode: number): Partial<ContainerView> => ({
  phase: {
    kind: "ended",
    ended: { exitCode, reason: "", startedAt: 0, finishedAt: 0 },
  },
});
const running: Partial<ContainerView> = { phase: { kind: "running", startedAt: 0 }, started: true };

interface PlanCase {
  state: Partial<PodState>;
  want: { start?: string[]; stop?: string[]; phase: string; done?: boolean; wakeAt?: number };
}
const PLANS: Record<string, PlanCase> = {
  "starts main containers together": {
    state: { containers: [view("a"), view("b")] },
    want: { start: ["a", "b"], phase: "Pending" },
  },
  "starts the first init container alone": {
    state: { containers: [view("i", { role: "init" }), view("j", { role: "init" }), view("a")] },
    want: { start: ["i"], phase: "Pending" },
  },
  "waits for a sidecar to start": {
    state: {
      containers: [view("s", { role: "sidecar", ...running, started: false }), view("a")],
    },
    want: { phase: "Pending" },
  },
  "fails with an init container that is not restarted": {
    state: { containers: [view("i", { role: "init", ...ended(1) }), view("a")] },
    want: { phase: "Failed", done: true },
  },
  "restarts an init container": {
    state: {
      restartPolicy: "OnFailure",
      containers: [view("i", { role: "init", ...ended(1), notBefore: 5 }), view("a")],
    },
    want: { phase: "Pending", wakeAt: 5 },
  },
  "restarts after a failure": {
    state: { restartPolicy: "OnFailure", containers: [view("a", ended(1))] },
    want: { start: ["a"], phase: "Running" },
  },
  "restarts always": {
    state: { restartPolicy: "Always", containers: [view("a", ended(0))] },
    want: { start: ["a"], phase: "Running" },
  },
  "succeeds": {
    state: { containers: [view("a", ended(0)), view("b", ended(0))] },
    want: { phase: "Succeeded", done: true },
  },
  "fails when one failed, once all have ended": {
    state: { containers: [view("a", ended(1)), view("b", ended(0))] },
    want: { phase: "Failed", done: true },
  },
  "continues while one runs": {
    state: { containers: [view("a", ended(1)), view("b", running)] },
    want: { phase: "Running" },
  },
  "ends sidecars last": {
    state: {
      containers: [
        view("s", { role: "sidecar", ...running }),
        view("t", { role: "sidecar", ...running }),
        view("a", ended(0)),
      ],
    },
    want: { stop: ["t"], phase: "Running" },
  },
  "stops everything of a pod that ends": {
    state: { ending: true, containers: [view("a", running), view("b", running)] },
    want: { stop: ["a", "b"], phase: "Running" },
  },
  "fails a pod that ends before it began": {
    state: { ending: true, containers: [view("a")] },
    want: { phase: "Failed", done: true },
  },
};
for (const [sentence, { state, want }] of Object.entries(PLANS)) {
  Deno.test(`\`planPod()\` ${sentence}`, () => {
    const plan = planPod({
      restartPolicy: "Never",
      containers: [],
      ending: false,
      now: 0,
      ...state,
    });
    const { start, stop, phase, done, wakeAt } = plan;
    const full = { start: [], stop: [], done: false, wakeAt: undefined, ...want };
    assert.deepEqual({ start, stop, phase, done, wakeAt }, full);
  });
}

Deno.test("`restartDelayMs()` restarts at once, then after 10 s, doubling up to 5 minutes", () => {
  const delays = [1, 2, 3, 4, 5, 6, 7, 100].map((n) => restartDelayMs(n, CRASH_BACK_OFF) / 1000);
  assert.deepEqual(delays, [0, 10, 20, 40, 80, 160, 300, 300]);
});

const REFUSALS: Record<string, [Partial<PodSpec>, string]> = {
  "the host's network": [{ hostNetwork: true }, "spec.hostNetwork"],
  "user namespaces": [{ hostUsers: false }, "spec.hostUsers"],
  "other users": [{ securityContext: { runAsUser: 1000 } }, "spec.securityContext.runAsUser"],
  "host paths": [
    { volumes: [{ name: "v", hostPath: { path: "/" } }] },
    "spec.volumes[0].hostPath",
  ],
  "claims": [
    { volumes: [{ name: "v", persistentVolumeClaim: { claimName: "c" } }] },
    "spec.volumes[0].persistentVolumeClaim",
  ],
  "CSI": [{ volumes: [{ name: "v", csi: { driver: "d" } }] }, "spec.volumes[0].csi"],
  "bundles": [
    { volumes: [{ name: "v", projected: { sources: [{ clusterTrustBundle: { path: "p" } }] } }] },
    "spec.volumes[0].projected.sources[0].clusterTrustBundle",
  ],
  "images without a command": [
    { containers: [{ name: "a", image: "i" }] },
    "spec.containers[0].command",
  ],
  "host ports": [
    { containers: [{ name: "a", command: ["x"], ports: [{ containerPort: 1, hostPort: 1 }] }] },
    "spec.containers[0].ports[0].hostPort",
  ],
  "privilege": [
    { containers: [{ name: "a", command: ["x"], securityContext: { privileged: true } }] },
    "spec.containers[0].securityContext.privileged",
  ],
  "mounts over the root": [
    {
      volumes: [{ name: "v", emptyDir: {} }],
      containers: [{ name: "a", command: ["x"], volumeMounts: [{ name: "v", mountPath: "/" }] }],
    },
    "spec.containers[0].volumeMounts[0].mountPath",
  ],
  "subPaths that leave the volume": [
    {
      volumes: [{ name: "v", emptyDir: {} }],
      containers: [{
        name: "a",
        command: ["x"],
        volumeMounts: [{ name: "v", mountPath: "/v", subPath: "../x" }],
      }],
    },
    "spec.containers[0].volumeMounts[0].subPath",
  ],
  "gRPC probes": [
    { containers: [{ name: "a", command: ["x"], livenessProbe: { grpc: { port: 1 } } }] },
    "spec.containers[0].livenessProbe.grpc",
  ],
  "postStart hooks": [
    {
      containers: [{
        name: "a",
        command: ["x"],
        lifecycle: { postStart: { exec: { command: ["y"] } } },
      }],
    },
    "spec.containers[0].lifecycle.postStart",
  ],
};
Deno.test("`refusalsOf()` refuses claims unless they are folders here", () => {
  const pod = {
    spec: {
      volumes: [{ name: "v", persistentVolumeClaim: { claimName: "c" } }],
      containers: [{ name: "a", command: ["x"] }],
    },
  };
  const fields = (claims: boolean) => refusalsOf(pod, { claims }).map(({ field }) => field);
  assert.deepEqual(fields(false), ["spec.volumes[0].persistentVolumeClaim"]);
  assert.deepEqual(fields(true), []);
});
for (const [sentence, [spec, field]] of Object.entries(REFUSALS)) {
  Deno.test(`\`refusalsOf()\` refuses ${sentence}`, () => {
    const containers = [{ name: "a", command: ["x"] }];
    const found = refusalsOf({ spec: { containers, ...spec } });
    assert.deepEqual(found.map((refusal) => refusal.field), [field]);
  });
}
Deno.test("`refusalsOf()` takes a plain pod with harmless settings", () => {
  const spec: PodSpec = {
    dnsPolicy: "ClusterFirst",
    hostUsers: true,
    securityContext: {},
    containers: [{
      name: "a",
      command: ["x"],
      securityContext: { allowPrivilegeEscalation: false, privileged: false },
    }],
  };
  assert.deepEqual(refusalsOf({ spec }), []);
});

const node = {
  name: "n",
  labels: { zone: "a" },
  resources: new Map([["a.com/x", 2]]),
  mostPods: 2,
};
const unplaced = (spec: Partial<PodSpec>): Pod => ({
  metadata: { name: "p" },
  spec: { containers: [{ name: "a" }], ...spec },
});
const nodeAffinity = (values: string[]) => ({
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchExpressions: [{ key: "zone", operator: "In", values }] }],
    },
  },
});
const asking = (resources: object) => unplaced({ containers: [{ name: "a", resources }] });
const using = (amount: string) => asking({ limits: { "a.com/x": amount } });
const PLACEMENTS: Record<string, [Pod, onNode: number | Pod[], string, RegExp?]> = {
  "binds a pod": [unplaced({}), 0, "bind"],
  "binds by the node's labels": [unplaced({ nodeSelector: { zone: "a" } }), 0, "bind"],
  "binds with any request of cpu": [
    unplaced({ containers: [{ name: "a", resources: { requests: { cpu: "1000" } } }] }),
    0,
    "bind",
  ],
  "binds by node affinity": [unplaced({ affinity: nodeAffinity(["a"]) }), 0, "bind"],
  "refuses other labels": [unplaced({ nodeSelector: { zone: "b" } }), 0, "wait", /selector/],
  "refuses other affinity": [unplaced({ affinity: nodeAffinity(["b"]) }), 0, "wait", /affinity/],
  "refuses devices": [
    unplaced({ containers: [{ name: "a", resources: { limits: { "nvidia.com/gpu": "1" } } }] }),
    0,
    "wait",
    /Insufficient nvidia\.com\/gpu/,
  ],
  "binds what the node still has of a device": [using("1"), [using("1")], "bind"],
  "refuses more devices than the node has": [
    using("3"),
    [],
    "wait",
    /^0\/1 nodes are available: 1 Insufficient a\.com\/x\.$/,
  ],
  "refuses more devices than the others leave": [using("2"), [using("1")], "wait", /Insufficient/],
  "refuses two devices in one message": [
    asking({ requests: { "a.com/x": "3" }, limits: { "b.com/y": "1" } }),
    [],
    "wait",
    /^0\/1 nodes are available: 1 Insufficient a\.com\/x, 1 Insufficient b\.com\/y\.$/,
  ],
  "refuses more pods than it takes": [unplaced({}), 2, "wait", /Too many pods/],
  "leaves gated pods": [unplaced({ schedulingGates: [{ name: "g" }] }), 0, "wait", /\[g\]/],
  "ignores pods of other schedulers": [unplaced({ schedulerName: "volcano" }), 0, "ignore"],
  "ignores pods with a node": [unplaced({ nodeName: "m" }), 0, "ignore"],
};
for (const [sentence, [pod, count, kind, message]] of Object.entries(PLACEMENTS)) {
  Deno.test(`\`place()\` ${sentence}`, () => {
    const onNode = typeof count === "number"
      ? Array.from({ length: count }, () => unplaced({}))
      : count;
    const placement = place(pod, node, onNode);
    assert.equal(placement.kind, kind);
    if (message) assert.match(placement.kind === "wait" ? placement.message : "", message);
  });
}
Deno.test("`inOrder()` takes the oldest first, then by name", () => {
  const pods = [["b", "2"], ["c", "1"], ["a", "2"]].map(([name, creationTimestamp]) => ({
    metadata: { name, creationTimestamp },
  }));
  assert.deepEqual(inOrder(pods).map(({ metadata }) => metadata?.name), ["c", "a", "b"]);
});

Deno.test("`refuseOtherSystems()` refuses macOS and Windows in one line", () => {
  refuseOtherSystems("linux");
  for (const os of ["darwin", "windows"]) {
    assert.throws(() => refuseOtherSystems(os), /^ConfigurationError: .*Linux only.*$/);
  }
});
