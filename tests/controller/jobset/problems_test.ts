/** Tests of `controller/jobset/problems.ts`, and of the condition that refuses a JobSet. */
import { deepEqual, equal, match } from "node:assert/strict";
import type { JobSetSpec, ReplicatedJob } from "../../../crds/jobset.ts";
import type { Volume } from "../../../platform/kube/kubernetes.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { jobSetProblems } from "../../../controller/jobset/problems.ts";
import { jobSet, replicated, World } from "./world.ts";

function sized(name: string, completions: number): ReplicatedJob {
  const { template } = replicated(name);
  return replicated(name, {
    template: { spec: { template: {}, ...template.spec, completions, parallelism: completions } },
  });
}

/** A job of one pod that leaves its replicas to the default. */
function single(name: string): ReplicatedJob {
  const { replicas: _, ...job } = sized(name, 1);
  return job;
}

/** A policy of claims of those names. */
const CLAIM = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
const claims = (...names: string[]) => ({
  templates: names.map((name) => ({ metadata: { name }, spec: CLAIM })),
});

/** A job whose container mounts a volume of that name. */
function mounting(name: string, volumes: Volume[] = []): JobSetSpec {
  const volumeMounts = [{ name, mountPath: "/v" }];
  const containers = [{ name: "main", image: "image", volumeMounts }];
  const template = { spec: { template: { spec: { containers, volumes } } } };
  return { replicatedJobs: [replicated("a", { template })] };
}

const REFUSED: Record<string, { spec: JobSetSpec; path: string; name?: string }> = {
  "dependsOn a later one": {
    spec: {
      replicatedJobs: [
        replicated("x"),
        replicated("a", { dependsOn: [{ name: "b", status: "Ready" }] }),
        replicated("b"),
      ],
    },
    path: "spec.replicatedJobs[1].dependsOn[0].name",
  },
  "dependsOn on the first": {
    spec: { replicatedJobs: [replicated("a", { dependsOn: [] })] },
    path: "spec.replicatedJobs[0].dependsOn",
  },
  "InOrder and dependsOn": {
    spec: {
      startupPolicy: { startupPolicyOrder: "InOrder" },
      replicatedJobs: [
        replicated("a"),
        replicated("b", { dependsOn: [{ name: "a", status: "Ready" }] }),
      ],
    },
    path: "spec.startupPolicy",
  },
  "negative replicas": {
    spec: { replicatedJobs: [replicated("a", { replicas: -1 })] },
    path: "spec.replicatedJobs[0].replicas",
  },
  "a name twice": {
    spec: { replicatedJobs: [replicated("a"), replicated("a")] },
    path: "spec.replicatedJobs[1].name",
  },
  "a name too long for Jobs": {
    spec: { replicatedJobs: [replicated("a")] },
    name: "x".repeat(60),
    path: "spec.replicatedJobs[0].name",
  },
  "a name too long for pods": {
    spec: { replicatedJobs: [sized("a", 2)] },
    name: "x".repeat(54),
    path: "spec.replicatedJobs[0].name",
  },
  "a group that is no label": {
    spec: { replicatedJobs: [replicated("a", { groupName: "A_b" })] },
    path: "spec.replicatedJobs[0].groupName",
  },
  "a success target that is not there": {
    spec: { successPolicy: { operator: "All", targetReplicatedJobs: ["z"] } },
    path: "spec.successPolicy.targetReplicatedJobs[0]",
  },
  "a rule's name": {
    spec: { failurePolicy: { rules: [{ name: "1x", action: "FailJobSet" }] } },
    path: "spec.failurePolicy.rules[0].name",
  },
  "a rule's name twice": {
    spec: {
      failurePolicy: {
        rules: [{ name: "x", action: "FailJobSet" }, { name: "x", action: "FailJobSet" }],
      },
    },
    path: "spec.failurePolicy.rules[1].name",
  },
  "a rule's reason": {
    spec: {
      failurePolicy: {
        rules: [{ name: "x", action: "FailJobSet", onJobFailureReasons: ["Bad"] }],
      },
    },
    path: "spec.failurePolicy.rules[0].onJobFailureReasons[0]",
  },
  "a rule's target": {
    spec: {
      failurePolicy: {
        rules: [{ name: "x", action: "FailJobSet", targetReplicatedJobs: ["z"] }],
      },
    },
    path: "spec.failurePolicy.rules[0].targetReplicatedJobs[0]",
  },
  "a coordinator that is not there": {
    spec: { coordinator: { replicatedJob: "z" } },
    path: "spec.coordinator.replicatedJob",
  },
  "a coordinator's job index": {
    spec: { replicatedJobs: [sized("a", 1)], coordinator: { replicatedJob: "a", jobIndex: 1 } },
    path: "spec.coordinator.jobIndex",
  },
  "a coordinator's job index, of a job that says no replicas": {
    spec: { replicatedJobs: [single("a")], coordinator: { replicatedJob: "a", jobIndex: 1 } },
    path: "spec.coordinator.jobIndex",
  },
  "a coordinator's pod index": {
    spec: { replicatedJobs: [sized("a", 1)], coordinator: { replicatedJob: "a", podIndex: 1 } },
    path: "spec.coordinator.podIndex",
  },
  "a subdomain": { spec: { network: { subdomain: "A.b" } }, path: "spec.network.subdomain" },
  "a manager without a domain": { spec: { managedBy: "me" }, path: "spec.managedBy" },
  "a claim's name twice": {
    spec: { ...mounting("v"), volumeClaimPolicies: [claims("v", "v")] },
    path: "spec.volumeClaimPolicies[0].templates[1].metadata.name",
  },
  "a claim's name twice, in two policies": {
    spec: { ...mounting("v"), volumeClaimPolicies: [claims("v"), claims("v")] },
    path: "spec.volumeClaimPolicies[1].templates[0].metadata.name",
  },
  "a claim's name that is no DNS name": {
    spec: { ...mounting("V_"), volumeClaimPolicies: [claims("V_")] },
    path: "spec.volumeClaimPolicies[0].templates[0].metadata.name",
  },
  "a claim's name that is too long": {
    spec: { ...mounting("v".repeat(62)), volumeClaimPolicies: [claims("v".repeat(62))] },
    path: "spec.volumeClaimPolicies[0].templates[0].metadata.name",
  },
  "a claim in another namespace": {
    spec: {
      ...mounting("v"),
      volumeClaimPolicies: [{
        templates: [{ metadata: { name: "v", namespace: "x" }, spec: CLAIM }],
      }],
    },
    path: "spec.volumeClaimPolicies[0].templates[0].metadata.namespace",
  },
  "a claim without access modes": {
    spec: {
      ...mounting("v"),
      volumeClaimPolicies: [{
        templates: [{ metadata: { name: "v" }, spec: { ...CLAIM, accessModes: [] } }],
      }],
    },
    path: "spec.volumeClaimPolicies[0].templates[0].spec.accessModes",
  },
  "a claim of no size": {
    spec: {
      ...mounting("v"),
      volumeClaimPolicies: [{
        templates: [{ metadata: { name: "v" }, spec: { accessModes: ["ReadWriteOnce"] } }],
      }],
    },
    path: "spec.volumeClaimPolicies[0].templates[0].spec.resources.requests.storage",
  },
  "a claim that no container mounts": {
    spec: { volumeClaimPolicies: [claims("v")] },
    path: "spec.replicatedJobs",
  },
  "a claim beside a volume of its name": {
    spec: {
      ...mounting("v", [{ name: "v", emptyDir: {} }]),
      volumeClaimPolicies: [claims("v")],
    },
    path: "spec.replicatedJobs[0].template.spec.template.spec.volumes[0].name",
  },
  "InPlaceRestart: not executed here": {
    spec: { failurePolicy: { restartStrategy: "InPlaceRestart" } },
    path: "spec.failurePolicy.restartStrategy",
  },
  "RestartJob with more Jobs than can be counted": {
    spec: {
      replicatedJobs: [replicated("a", { replicas: 1025 })],
      failurePolicy: { rules: [{ name: "x", action: "RestartJob" }] },
    },
    path: "spec.replicatedJobs[0].replicas",
  },
  "exclusive placement: not executed here": {
    spec: {
      replicatedJobs: [replicated("a", {
        template: {
          ...replicated("a").template,
          metadata: { annotations: { "alpha.jobset.sigs.k8s.io/exclusive-topology": "zone" } },
        },
      })],
    },
    path:
      "spec.replicatedJobs[0].template.metadata.annotations[alpha.jobset.sigs.k8s.io/exclusive-topology]",
  },
};

for (const [what, { spec, path, name = "t" }] of Object.entries(REFUSED)) {
  Deno.test(`\`jobSetProblems()\` refuses ${what}`, () => {
    deepEqual(jobSetProblems(spec, { name }).map((problem) => problem.field), [path]);
  });
}

Deno.test("`jobSetProblems()` accepts what upstream accepts", () => {
  const coordinator = { replicatedJob: "a", jobIndex: 0, podIndex: 0 };
  deepEqual(jobSetProblems({ replicatedJobs: [single("a")], coordinator }, { name: "t" }), []);
  deepEqual(jobSetProblems({}, { name: "t" }), []);
  deepEqual(jobSetProblems(jobSet().spec ?? {}, { generateName: "t-" }), []);
  deepEqual(jobSetProblems({ replicatedJobs: [replicated("a", { replicas: 0 })] }), []);
});

Deno.test("`createJobSetReconciler()` refuses by condition and event, and continues when the cause is gone", async () => {
  const world = new World();
  const key = "alpha.jobset.sigs.k8s.io/exclusive-topology";
  await world.create(jobSet({}, { annotations: { [key]: "zone" } }));
  deepEqual(world.jobs, []);
  deepEqual(world.conditions, ["Refused=True/NotSupported"]);
  match(world.events.join(), /^NotSupported: metadata.annotations\[.*is supported .* only beside/);
  deepEqual(world.warnings, ["NotSupported"]);
  world.cluster.edit(KINDS.jobSet, "default/t", { metadata: { annotations: null } });
  await world.settle();
  equal(world.jobs.length, 4);
  deepEqual(world.conditions, ["Refused=False/Accepted"]);
});

Deno.test("`createJobSetReconciler()` refuses an invalid spec by condition and event", async () => {
  const world = new World();
  await world.create(jobSet({ replicatedJobs: [replicated("a", { dependsOn: [] })] }));
  deepEqual(world.jobs, []);
  deepEqual(world.conditions, ["Refused=True/Invalid"]);
});
