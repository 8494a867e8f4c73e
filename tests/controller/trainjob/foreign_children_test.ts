/** Tests of objects that have the name of a policy's child and are not the TrainJob's: refused, and nothing is made. */
import { deepEqual, doesNotMatch, equal, ok } from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import type { MlPolicy } from "../../../crds/training_runtime.ts";
import type { OwnerRef } from "../../../platform/kube/resource.ts";
import { nodeJob, replicatedJob, runtime, trainJob } from "../builders.ts";
import { World } from "./world.ts";

const API_VERSION = "trainer.kubeflow.org/v1alpha1";
const LAUNCHED = [
  replicatedJob("node", undefined),
  replicatedJob("launcher", "trainer", { name: "node" }),
];

/** Runtimes by the children of their policies. */
const RUNTIMES = {
  mpi: { mlPolicy: { mpi: {} }, jobs: LAUNCHED },
  flux: { mlPolicy: { flux: {} }, jobs: [nodeJob()] },
  coscheduling: { mlPolicy: {}, podGroupPolicy: { coscheduling: {} }, jobs: [nodeJob()] },
  volcano: { mlPolicy: {}, podGroupPolicy: { volcano: {} }, jobs: [nodeJob()] },
} as const;

const CHILDREN = [
  { of: "mpi", kind: KINDS.secret, name: "tj-mpi-ssh-auth" },
  { of: "mpi", kind: KINDS.configMap, name: "tj-mpi-hostfile" },
  { of: "flux", kind: KINDS.secret, name: "tj-flux-curve" },
  { of: "flux", kind: KINDS.configMap, name: "tj-flux-entrypoint" },
  { of: "coscheduling", kind: KINDS.coschedulingPodGroup, name: "tj" },
  { of: "volcano", kind: KINDS.volcanoPodGroup, name: "tj" },
] as const;

/** The owners of such objects, with the words for them, and the time until the next look. */
const OWNERS: Readonly<
  Record<string, { refs: readonly OwnerRef[]; want: string; retryMs: number }>
> = {
  "nobody": { refs: [], want: "is owned by no controller", retryMs: 60_000 },
  "somebody else": {
    refs: [{ apiVersion: "apps/v1", kind: "Deployment", name: "web", uid: "w", controller: true }],
    want: 'is owned by Deployment "web"',
    retryMs: 60_000,
  },
  "another TrainJob": {
    refs: [{ apiVersion: API_VERSION, kind: "TrainJob", name: "o", uid: "o", controller: true }],
    want: 'is owned by TrainJob "o"',
    retryMs: 60_000,
  },
  "the TrainJob that had this name before, until it is collected": {
    refs: [{ apiVersion: API_VERSION, kind: "TrainJob", name: "tj", uid: "old", controller: true }],
    want: 'is owned by TrainJob "tj" with another UID, old',
    retryMs: 5_000,
  },
};

function begin(of: keyof typeof RUNTIMES): World {
  const world = new World();
  world.executor = "external";
  const { jobs, ...policies } = RUNTIMES[of];
  const made = runtime({}, { replicatedJobs: [...jobs] });
  const mlPolicy: MlPolicy = policies.mlPolicy;
  made.spec = { ...policies, mlPolicy, template: { spec: { replicatedJobs: [...jobs] } } };
  world.cluster.put(KINDS.clusterTrainingRuntime, made);
  world.cluster.put(KINDS.trainJob, trainJob());
  return world;
}

for (const { of, kind, name } of CHILDREN) {
  for (const [whose, { refs, want, retryMs }] of Object.entries(OWNERS)) {
    Deno.test(`${of}: a ${kind.kind} ${name} of ${whose}`, async () => {
      const world = begin(of);
      const object = { metadata: { name, namespace: "ml", ownerReferences: [...refs] } };
      world.cluster.put<typeof object>({ ...kind, parse: () => object }, object);
      const { requeueAfterMs } = await world.reconcile() ?? {};
      equal(requeueAfterMs, retryMs, "not every such object is watched");
      await world.settle();
      const text = `${kind.kind} "${name}" exists and ${want}; delete it, or give the TrainJob ` +
        "another name";
      deepEqual(world.conditions, [
        `ResourcesCreated=False/TrainJobResourcesCreationFailed: ${text}`,
      ]);
      deepEqual(world.warnings.map(({ message }) => message), [
        `TrainJob resources reconciliation failed: ${text}`,
      ]);
      deepEqual(world.cluster.writes.filter(({ verb }) => verb === "create"), []);
      world.cluster.remove(kind, `ml/${name}`);
      await world.settle();
      ok(world.jobSet);
      doesNotMatch(world.conditions.join(), /ResourcesCreated/);
    });
  }
}
