/** Tests of `crds/watched.ts`: the part of each object that the caches keep. */
import assert from "node:assert/strict";
import { ANNOTATIONS, LAST_APPLIED } from "../../crds/names.ts";
import { MILEPOST_JOBSET_CONTROLLER } from "../../crds/jobset_names.ts";
import { CHILD_CONFIG_MAP, mayBeChild, WATCHED } from "../../crds/watched.ts";
import { optimizationJob } from "../trials/search/builders.ts";

/** A JobSet with one job, as the API server has it. */
function jobSet(spec: Record<string, unknown>) {
  const template = {
    metadata: { labels: { role: "a", "trainer.kubeflow.org/trainjob-name": "j" } },
    spec: { containers: [{ name: "node", image: "i", env: [{ name: "A", value: "1" }] }] },
  };
  const labels = { "trainer.kubeflow.org/trainjob-ancestor-step": "trainer", other: "x" };
  return {
    apiVersion: "jobset.x-k8s.io/v1alpha2",
    kind: "JobSet",
    metadata: { name: "j", namespace: "team", uid: "u3", annotations: { a: "b" } },
    spec: {
      network: { enableDNSHostnames: true },
      replicatedJobs: [{
        name: "node",
        replicas: 1,
        template: { metadata: { labels }, spec: { parallelism: 1, template } },
      }],
      ...spec,
    },
    status: { restarts: 0 },
  };
}

/** The same, after a restart of its TrainJob. */
function restarted(spec: Record<string, unknown>) {
  const { metadata, ...others } = jobSet(spec);
  const annotations = { ...metadata.annotations, [ANNOTATIONS.restartCount]: "2" };
  return { ...others, metadata: { ...metadata, annotations } };
}

/** Of each kind an object as the API server has it, and what is held of it. */
const CASES: Readonly<
  Record<string, { parse: (value: unknown) => unknown; given: unknown; held: unknown }>
> = {
  "a running JobSet of another executor: which jobs and containers it has": {
    parse: WATCHED.jobSet.parse,
    given: jobSet({ managedBy: "jobset.sigs.k8s.io/other", suspend: false }),
    held: {
      ...jobSet({}),
      metadata: { name: "j", namespace: "team", uid: "u3" },
      spec: {
        managedBy: "jobset.sigs.k8s.io/other",
        suspend: false,
        replicatedJobs: [{
          name: "node",
          template: {
            metadata: { labels: { "trainer.kubeflow.org/trainjob-ancestor-step": "trainer" } },
            spec: {
              template: {
                metadata: { labels: { role: "a" } },
                spec: { containers: [{ name: "node" }] },
              },
            },
          },
        }],
      },
    },
  },
  "a JobSet without managedBy": {
    parse: WATCHED.jobSet.parse,
    given: jobSet({ replicatedJobs: [{ name: "n", replicas: 2, template: {} }] }),
    held: {
      ...jobSet({}),
      metadata: { name: "j", namespace: "team", uid: "u3" },
      spec: { replicatedJobs: [{ name: "n", template: {} }] },
    },
  },
  "a JobSet of another executor that was restarted: which restart it is of": {
    parse: WATCHED.jobSet.parse,
    given: restarted({ replicatedJobs: [] }),
    held: {
      ...jobSet({}),
      metadata: {
        name: "j",
        namespace: "team",
        uid: "u3",
        annotations: { [ANNOTATIONS.restartCount]: "2" },
      },
      spec: { replicatedJobs: [] },
    },
  },
  "a paused JobSet of another executor: all, which it is compared by": {
    parse: WATCHED.jobSet.parse,
    given: jobSet({ suspend: true }),
    held: jobSet({ suspend: true }),
  },
  "a JobSet of the built-in executor: all, which it is run by": {
    parse: WATCHED.jobSet.parse,
    given: jobSet({ managedBy: MILEPOST_JOBSET_CONTROLLER }),
    held: jobSet({ managedBy: MILEPOST_JOBSET_CONTROLLER }),
  },
  "a JobSet without a spec": {
    parse: WATCHED.jobSet.parse,
    given: { ...jobSet({}), spec: undefined },
    held: { ...jobSet({}), spec: undefined },
  },
  "a pod: its place, its node, its phase and its start": {
    parse: WATCHED.pod.parse,
    given: {
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        name: "j-node-0-0-abcde",
        namespace: "team",
        uid: "u1",
        resourceVersion: "7",
        creationTimestamp: "2026-01-01T00:00:00Z",
        deletionTimestamp: "2026-01-01T01:00:00Z",
        labels: {
          app: "x",
          "trainer.kubeflow.org/trainjob-name": "j",
          "trainer.kubeflow.org/trial": "t",
          "jobset.sigs.k8s.io/replicatedjob-name": "node",
          "jobset.sigs.k8s.io/jobset-uid": "u3",
          "jobset.sigs.k8s.io/job-index": "0",
          "batch.kubernetes.io/job-completion-index": "0",
        },
        annotations: { a: "b" },
        ownerReferences: [{
          apiVersion: "batch/v1",
          kind: "Job",
          name: "j-node-0",
          uid: "u2",
          controller: true,
          blockOwnerDeletion: true,
        }],
      },
      spec: { nodeName: "node-1", containers: [{ name: "node", image: "i" }] },
      status: { phase: "Running", startTime: "2026-01-01T00:00:01Z", podIP: "10.0.0.1" },
    },
    held: {
      metadata: {
        name: "j-node-0-0-abcde",
        namespace: "team",
        uid: "u1",
        resourceVersion: "7",
        deletionTimestamp: "2026-01-01T01:00:00Z",
        labels: {
          "trainer.kubeflow.org/trainjob-name": "j",
          "trainer.kubeflow.org/trial": "t",
          "jobset.sigs.k8s.io/replicatedjob-name": "node",
          "jobset.sigs.k8s.io/jobset-uid": "u3",
          "batch.kubernetes.io/job-completion-index": "0",
        },
        ownerReferences: [
          { apiVersion: "batch/v1", kind: "Job", name: "j-node-0", uid: "u2", controller: true },
        ],
      },
      spec: { nodeName: "node-1" },
      status: { phase: "Running", startTime: "2026-01-01T00:00:01Z" },
    },
  },
  "a pod that has succeeded: that it is not counted yet": {
    parse: WATCHED.pod.parse,
    given: {
      metadata: { name: "p", finalizers: ["acme.io/x", "batch.kubernetes.io/job-tracking"] },
      status: { phase: "Succeeded" },
    },
    held: { metadata: { name: "p" }, status: { phase: "Succeeded" }, isUncounted: true },
  },
  "a pod that has succeeded and is counted": {
    parse: WATCHED.pod.parse,
    given: { metadata: { name: "p", finalizers: ["acme.io/x"] }, status: { phase: "Succeeded" } },
    held: { metadata: { name: "p" }, status: { phase: "Succeeded" } },
  },
  "a pod that runs, which its Job follows": {
    parse: WATCHED.pod.parse,
    given: {
      metadata: { name: "p", finalizers: ["batch.kubernetes.io/job-tracking"] },
      status: { phase: "Running" },
    },
    held: { metadata: { name: "p" }, status: { phase: "Running" } },
  },
  "a pod that was not started: no labels, no status": {
    parse: WATCHED.pod.parse,
    given: { metadata: { name: "p" } },
    held: { metadata: { name: "p" } },
  },
  "a Job: its place, its counters and conditions, and what a resumption adds to": {
    parse: WATCHED.job.parse,
    given: {
      metadata: {
        name: "j-node-0",
        labels: {
          "jobset.sigs.k8s.io/replicatedjob-name": "node",
          "jobset.sigs.k8s.io/restart-attempt": "1",
          "jobset.sigs.k8s.io/job-key": "f00",
        },
        annotations: {
          "jobset.sigs.k8s.io/job-key": "f00",
          "trainer.kubeflow.org/from-template": "{}",
        },
      },
      spec: {
        suspend: false,
        parallelism: 2,
        completions: 2,
        backoffLimit: 0,
        template: {
          metadata: { labels: { a: "b" } },
          spec: {
            containers: [],
            tolerations: [{ key: "gpu", operator: "Exists" }],
            schedulingGates: [{ name: "g" }],
          },
        },
      },
      status: {
        active: 1,
        ready: 1,
        terminating: 0,
        startTime: "2026-01-01T00:00:00Z",
        conditions: [{
          type: "Failed",
          status: "True",
          reason: "r",
          message: "m",
          lastProbeTime: "2026-01-01T00:00:00Z",
          lastTransitionTime: "2026-01-01T00:00:00Z",
        }],
      },
    },
    held: {
      metadata: {
        name: "j-node-0",
        labels: {
          "jobset.sigs.k8s.io/replicatedjob-name": "node",
          "jobset.sigs.k8s.io/restart-attempt": "1",
        },
        annotations: { "trainer.kubeflow.org/from-template": "{}" },
      },
      spec: {
        suspend: false,
        parallelism: 2,
        completions: 2,
        template: {
          spec: {
            tolerations: [{ key: "gpu", operator: "Exists" }],
            schedulingGates: [{ name: "g" }],
          },
        },
      },
      status: {
        active: 1,
        ready: 1,
        startTime: "2026-01-01T00:00:00Z",
        conditions: [{
          type: "Failed",
          status: "True",
          reason: "r",
          message: "m",
          lastTransitionTime: "2026-01-01T00:00:00Z",
        }],
      },
    },
  },
  "a ConfigMap: its identity": {
    parse: WATCHED.configMap.parse,
    given: {
      metadata: { name: "j-tls-config", uid: "u", resourceVersion: "1", labels: { a: "b" } },
      data: { "ca.crt": "PEM" },
    },
    held: { metadata: { name: "j-tls-config", uid: "u", resourceVersion: "1" } },
  },
  "owner references: the controller": {
    parse: WATCHED.configMap.parse,
    given: {
      metadata: {
        name: "j",
        ownerReferences: [
          { apiVersion: "v1", kind: "A", name: "a", uid: "1" },
          { apiVersion: "v1", kind: "B", name: "b", uid: "2", controller: true, more: "x" },
          { apiVersion: "v1", kind: "C", name: "c", uid: "3", controller: false },
        ],
      },
    },
    held: {
      metadata: {
        name: "j",
        ownerReferences: [
          { apiVersion: "v1", kind: "B", name: "b", uid: "2", controller: true },
        ],
      },
    },
  },
  "owner references: none that no owner has": {
    parse: WATCHED.pod.parse,
    given: {
      metadata: {
        name: "j",
        ownerReferences: [
          { apiVersion: "v1", kind: "A", name: "a".repeat(1000), uid: "1", controller: true },
        ],
      },
    },
    held: { metadata: { name: "j", ownerReferences: [] } },
  },
  "a child ConfigMap: the entries that are ours": {
    parse: CHILD_CONFIG_MAP.parse,
    given: {
      metadata: { name: "j-tls-config", labels: { a: "b" } },
      data: { "ca.crt": "PEM", runtime: "yaml", other: "x" },
      binaryData: { large: "AAAA" },
    },
    held: { metadata: { name: "j-tls-config" }, data: { "ca.crt": "PEM", runtime: "yaml" } },
  },
  "a service account: its identity": {
    parse: WATCHED.serviceAccount.parse,
    given: { metadata: { name: "default", uid: "u" }, secrets: [{ name: "s" }] },
    held: { metadata: { name: "default", uid: "u" } },
  },
  "a Service: its identity": {
    parse: WATCHED.service.parse,
    given: { metadata: { name: "j" }, spec: { clusterIP: "None" } },
    held: { metadata: { name: "j" } },
  },
  "a TrainJob: all but what kubectl remembers of it": {
    parse: WATCHED.trainJob.parse,
    given: {
      apiVersion: "trainer.kubeflow.org/v1alpha1",
      kind: "TrainJob",
      metadata: { name: "j", annotations: { [LAST_APPLIED]: "{}", mine: "x" } },
      spec: { runtimeRef: { name: "torch" }, unknown: [1] },
    },
    held: {
      apiVersion: "trainer.kubeflow.org/v1alpha1",
      kind: "TrainJob",
      metadata: { name: "j", annotations: { mine: "x" } },
      spec: { runtimeRef: { name: "torch" }, unknown: [1] },
    },
  },
  "an OptimizationJob: all but what kubectl remembers of it": {
    parse: WATCHED.optimizationJob.parse,
    given: {
      ...optimizationJob(),
      metadata: { name: "j", annotations: { [LAST_APPLIED]: "{}", mine: "x" } },
    },
    held: { ...optimizationJob(), metadata: { name: "j", annotations: { mine: "x" } } },
  },
  "a TrainJob without other annotations: none": {
    parse: WATCHED.trainJob.parse,
    given: {
      apiVersion: "trainer.kubeflow.org/v1alpha1",
      kind: "TrainJob",
      metadata: { name: "j", annotations: { [LAST_APPLIED]: "{}" } },
      spec: { runtimeRef: { name: "torch" } },
    },
    held: {
      apiVersion: "trainer.kubeflow.org/v1alpha1",
      kind: "TrainJob",
      metadata: { name: "j" },
      spec: { runtimeRef: { name: "torch" } },
    },
  },
  "a Trial: all but what its job is made of": {
    parse: WATCHED.trial.parse,
    given: {
      apiVersion: "kubeflow.org/v1beta1",
      kind: "Trial",
      metadata: { name: "t", namespace: "team", labels: { a: "b" } },
      spec: {
        objective: { type: "minimize", objectiveMetricName: "loss" },
        runSpec: {
          apiVersion: "trainer.kubeflow.org/v1alpha1",
          kind: "TrainJob",
          metadata: { name: "t", namespace: "team", annotations: { script: "x" } },
          spec: { trainer: { command: ["a long script"] } },
        },
        later: { kept: true },
      },
    },
    held: {
      apiVersion: "kubeflow.org/v1beta1",
      kind: "Trial",
      metadata: { name: "t", namespace: "team", labels: { a: "b" } },
      spec: {
        objective: { type: "minimize", objectiveMetricName: "loss" },
        runSpec: {
          apiVersion: "trainer.kubeflow.org/v1alpha1",
          kind: "TrainJob",
          metadata: { name: "t" },
        },
        later: { kept: true },
      },
    },
  },
  "a Trial whose job is nothing that can be made": {
    parse: WATCHED.trial.parse,
    given: {
      apiVersion: "kubeflow.org/v1beta1",
      kind: "Trial",
      metadata: { name: "t" },
      spec: { runSpec: { kind: 7, metadata: "no" } },
    },
    held: {
      apiVersion: "kubeflow.org/v1beta1",
      kind: "Trial",
      metadata: { name: "t" },
      spec: { runSpec: { kind: undefined, metadata: undefined } },
    },
  },
};

for (const [name, { parse, given, held }] of Object.entries(CASES)) {
  Deno.test(`\`WATCHED\` keeps the fields of ${name}`, () => {
    assert.deepEqual(parse(given), held);
  });
}

for (const [name, kind] of Object.entries(WATCHED)) {
  for (const [what, value] of Object.entries({ "no object": "x", "no metadata": {} })) {
    Deno.test(`\`WATCHED.${name}\` refuses ${what}`, () => {
      assert.throws(() => kind.parse(value));
    });
  }
}

for (
  const [name, is] of Object.entries({
    "j-runtime-snapshot": true,
    "j-tls-config": true,
    "j-mpi-hostfile": true,
    "j-flux-entrypoint": true,
    "kube-root-ca.crt": false,
    "tls-config-of-mine": false,
  })
) {
  Deno.test(`\`mayBeChild()\` is ${is} for ${name}`, () => {
    assert.equal(mayBeChild({ metadata: { name } }), is);
  });
}
