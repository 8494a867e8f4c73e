/** Cases of a runtime's JobSet template: policies, network, volumes, labels, annotations. */
import type { CaseTable } from "../case.ts";
import { container, type Fields, job, node, plain, renders, trainJob } from "../sketches.ts";

const spec = (jobSet: Fields, jobs?: readonly Fields[]) =>
  renders(plain({ jobSet, ...jobs === undefined ? {} : { jobs } }));
const pod = (more: Fields) => renders(plain({ jobs: [node({ pod: more })] }));
const three = [job("a"), job("b"), node()];

const POLICIES: CaseTable = {
  "a job that depends on another's completion": spec({}, [
    job("a"),
    node({ more: { dependsOn: [{ name: "a", status: "Complete" }] } }),
  ]),
  "a job that depends on another's readiness": spec({}, [
    job("a"),
    node({ more: { dependsOn: [{ name: "a", status: "Ready" }] } }),
  ]),
  "a success policy": spec({ successPolicy: { operator: "Any", targetReplicatedJobs: ["node"] } }),
  "a failure policy with restarts": spec({ failurePolicy: { maxRestarts: 3 } }),
  "a failure policy with rules": spec({
    failurePolicy: {
      maxRestarts: 2,
      restartStrategy: "BlockingRecreate",
      rules: [
        { name: "fatal", action: "FailJobSet", onJobFailureReasons: ["PodFailurePolicy"] },
        {
          name: "again",
          action: "RestartJobSetAndIgnoreMaxRestarts",
          targetReplicatedJobs: ["node"],
          onJobFailureMessagePatterns: ["^lost"],
        },
      ],
    },
  }),
  "a startup policy": spec({ startupPolicy: { startupPolicyOrder: "InOrder" } }, three),
  "a coordinator": spec({ coordinator: { replicatedJob: "node", jobIndex: 0, podIndex: 0 } }),
  "a time to live": spec({ ttlSecondsAfterFinished: 3600 }),
  "a network without names": spec({ network: { enableDNSHostnames: false } }),
  "a network with a subdomain": spec({
    network: { subdomain: "mine", publishNotReadyAddresses: false, enableDNSHostnames: true },
  }),
  "suspend of the runtime is not heeded": spec({ suspend: true }),
  "groups and replicas of jobs that are no step": spec({}, [
    job("side", { more: { replicas: 2, groupName: "sides" } }),
    node({ more: { groupName: "nodes" } }),
  ]),
};

const JOBS: CaseTable = {
  "limits of a Job": renders(plain({
    jobs: [node({
      job: {
        backoffLimit: 0,
        activeDeadlineSeconds: 600,
        ttlSecondsAfterFinished: 60,
        podReplacementPolicy: "Failed",
        completionMode: "Indexed",
        backoffLimitPerIndex: 1,
        maxFailedIndexes: 2,
      },
      pod: { restartPolicy: "Never" },
    })],
  })),
  "a pod failure policy": renders(plain({
    jobs: [node({
      job: {
        podFailurePolicy: {
          rules: [{ action: "FailJob", onExitCodes: { operator: "In", values: [42] } }],
        },
      },
      pod: { restartPolicy: "Never" },
    })],
  })),
  "labels and annotations everywhere": renders(plain({
    labels: { "of-the-runtime": "yes" },
    jobSetMetadata: { labels: { js: "1" }, annotations: { "js.io/a": "1" } },
    jobs: [node({
      metadata: { labels: { job: "1" }, annotations: { "job.io/a": "1" } },
      podMetadata: { labels: { pod: "1" }, annotations: { "pod.io/a": "1" } },
    })],
  })),
  "labels and annotations of the TrainJob": renders(
    plain(),
    trainJob({}, { labels: { mine: "1" }, annotations: { "mine.io/a": "1" } }),
  ),
  "an exclusive topology": renders(plain({
    jobSetMetadata: { annotations: { "alpha.jobset.sigs.k8s.io/exclusive-topology": "zone" } },
  })),
  "a volume claim policy": spec({
    volumeClaimPolicies: [{
      templates: [{
        metadata: { name: "initializer" },
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
      }],
    }],
  }, [node({
    containers: [container("node", {
      volumeMounts: [{ name: "initializer", mountPath: "/workspace" }],
    })],
  })]),
};

const PODS: CaseTable = {
  "volumes and mounts": renders(plain({
    jobs: [node({
      containers: [container("node", { volumeMounts: [{ name: "v", mountPath: "/v" }] })],
      pod: { volumes: [{ name: "v", emptyDir: { medium: "Memory", sizeLimit: "1Gi" } }] },
    })],
  })),
  "tolerations, selector and affinity": pod({
    nodeSelector: { zone: "a" },
    tolerations: [{ key: "gpu", operator: "Exists", effect: "NoSchedule" }],
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{
            matchExpressions: [{ key: "k", operator: "In", values: ["v"] }],
          }],
        },
      },
    },
  }),
  "security, priority and the rest of a pod": pod({
    securityContext: { runAsNonRoot: true, runAsUser: 1000, fsGroup: 1000 },
    terminationGracePeriodSeconds: 5,
    hostNetwork: false,
    schedulerName: "mine",
    restartPolicy: "Never",
    serviceAccountName: "default",
    imagePullSecrets: [{ name: "s" }],
    schedulingGates: [{ name: "example.com/wait" }],
  }),
  "init containers and sidecars": pod({
    initContainers: [container("prepare"), container("side", { restartPolicy: "Always" })],
  }),
  "probes, lifecycle and ports": renders(plain({
    jobs: [node({
      containers: [container("node", {
        readinessProbe: { tcpSocket: { port: 2222 }, periodSeconds: 5 },
        livenessProbe: { httpGet: { path: "/", port: 8080 } },
        lifecycle: { preStop: { exec: { command: ["true"] } } },
        ports: [{ name: "http", containerPort: 8080 }, { containerPort: 9090, protocol: "UDP" }],
        securityContext: { allowPrivilegeEscalation: false },
      })],
    })],
  })),
};

/** See above. */
export const TEMPLATE: CaseTable = { ...POLICIES, ...JOBS, ...PODS };
