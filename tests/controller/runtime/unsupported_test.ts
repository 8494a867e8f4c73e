/** Tests of `controller/runtime/unsupported.ts`. */
import { deepEqual } from "node:assert/strict";
import type { Executor } from "../../../controller/runtime/draft.ts";
import { POLICIES } from "../../../controller/runtime/policies/table.ts";
import { unsupportedFeatures } from "../../../controller/runtime/unsupported.ts";
import type { JobSetSpec } from "../../../crds/jobset.ts";
import type { TrainingRuntimeSpec } from "../../../crds/training_runtime.ts";
import { nodeJob, trainJob } from "../builders.ts";

const EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology";

function specOf(jobSet: JobSetSpec = {}): TrainingRuntimeSpec {
  return { template: { spec: { replicatedJobs: [nodeJob()], ...jobSet } } };
}

function pathsOf(spec: TrainingRuntimeSpec, executor: Executor = "builtin"): string[] {
  const context = { trainJob: trainJob(), executor, policies: POLICIES };
  return unsupportedFeatures(spec, context).map(({ field }) => field);
}

const EVERYWHERE: Record<string, { spec: TrainingRuntimeSpec; want: string[] }> = {
  "nothing of plain": { spec: specOf(), want: [] },
  "nothing of torch": { spec: { ...specOf(), mlPolicy: { torch: {} } }, want: [] },
  "nothing of mpi": { spec: { ...specOf(), mlPolicy: { mpi: {} } }, want: [] },
  "nothing of jax": { spec: { ...specOf(), mlPolicy: { jax: {} } }, want: [] },
  "nothing of xgboost": { spec: { ...specOf(), mlPolicy: { xgboost: {} } }, want: [] },
  "nothing of flux": { spec: { ...specOf(), mlPolicy: { flux: {} } }, want: [] },
  "nothing of tensorflow": { spec: { ...specOf(), mlPolicy: { tensorflow: {} } }, want: [] },
  "a policy that no table has": {
    spec: { ...specOf(), mlPolicy: { rings: {} } },
    want: ["spec.mlPolicy.rings"],
  },
  "nothing of gang scheduling": {
    spec: { ...specOf(), podGroupPolicy: { coscheduling: {}, volcano: {} } },
    want: [],
  },
  "an unknown gang scheduler": {
    spec: { ...specOf(), podGroupPolicy: { volcano: {}, troupe: {} } },
    want: ["spec.podGroupPolicy.troupe"],
  },
};

for (const [what, { spec, want }] of Object.entries(EVERYWHERE)) {
  Deno.test(`unsupportedFeatures() names ${what}, whoever executes`, () => {
    deepEqual(pathsOf(spec, "builtin"), want);
    deepEqual(pathsOf(spec, "external"), want);
  });
}

const exclusiveJob = nodeJob();
exclusiveJob.template.metadata = { annotations: { [EXCLUSIVE]: "zone" } };

const BUILTIN: Record<string, { spec: TrainingRuntimeSpec; want: string }> = {
  "InPlaceRestart": {
    spec: specOf({ failurePolicy: { restartStrategy: "InPlaceRestart" } }),
    want: "spec.template.spec.failurePolicy.restartStrategy",
  },
  "another executor": {
    spec: specOf({ managedBy: "acme.io/executor" }),
    want: "spec.template.spec.managedBy",
  },
  "exclusive placement of the JobSet": {
    spec: {
      template: {
        metadata: { annotations: { [EXCLUSIVE]: "zone" } },
        spec: specOf().template.spec,
      },
    },
    want: `spec.template.metadata.annotations[${EXCLUSIVE}]`,
  },
  "exclusive placement of a job": {
    spec: specOf({ replicatedJobs: [exclusiveJob] }),
    want: `spec.template.spec.replicatedJobs[0].template.metadata.annotations[${EXCLUSIVE}]`,
  },
};

for (const [what, { spec, want }] of Object.entries(BUILTIN)) {
  Deno.test(`unsupportedFeatures() names ${what} for the builtin executor alone`, () => {
    deepEqual(pathsOf(spec), [want]);
    deepEqual(pathsOf(spec, "external"), []);
  });
}

Deno.test("unsupportedFeatures() names exclusive placement that a patch asks for", () => {
  const annotations = { [EXCLUSIVE]: "zone" };
  const job = trainJob({
    runtimePatches: [{
      manager: "acme.io/x",
      trainingRuntimeSpec: {
        template: {
          metadata: { annotations },
          spec: { replicatedJobs: [{ name: "node", template: { metadata: { annotations } } }] },
        },
      },
    }],
  });
  const path = "spec.runtimePatches[0].trainingRuntimeSpec.template";
  const context = { trainJob: job, executor: "builtin", policies: POLICIES } as const;
  deepEqual(unsupportedFeatures(specOf(), context).map((problem) => problem.field), [
    `${path}.metadata.annotations[${EXCLUSIVE}]`,
    `${path}.spec.replicatedJobs[0].template.metadata.annotations[${EXCLUSIVE}]`,
  ]);
});
