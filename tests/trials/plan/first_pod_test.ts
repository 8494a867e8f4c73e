/** Tests of the pod whose metrics count for a v1 job that has no template. */
import assert from "node:assert/strict";
import { podOf } from "../../../controller/jobs/replica_pod.ts";
import { KIND_RULES } from "../../../controller/jobs/rules_by_kind.ts";
import { jobSchema } from "../../../crds/job_kind.ts";
import { JOB_KINDS } from "../../../crds/job_kinds.ts";
import { V1_KINDS, type V1KindName } from "../../../crds/v1/kinds.ts";
import { isPrimaryPod } from "../../../trials/mapping/outcome.ts";
import { deriveJobPlan } from "../../../trials/plan/derive_job_plan.ts";
import { v1Job, v1Run } from "../../controller/jobs/v1_jobs.ts";

const ALL_PLAIN = { keepsPlainJobs: true, keepsSteps: true };

type Types = Readonly<Record<string, number>>;

/** Replica types of jobs, and the one pod of each that counts. */
const CASES: readonly (readonly [V1KindName, Types, string])[] = [
  ["TFJob", { Chief: 1, Worker: 2, PS: 2, Evaluator: 1 }, "chief-0"],
  ["TFJob", { Master: 1, Worker: 2 }, "master-0"],
  ["TFJob", { Worker: 2, PS: 2, Evaluator: 1 }, "worker-0"],
  ["PyTorchJob", { Master: 1, Worker: 2 }, "master-0"],
  ["PyTorchJob", { Worker: 2 }, "worker-0"],
  ["XGBoostJob", { Master: 1, Worker: 2 }, "master-0"],
  ["MXJob", { Scheduler: 1, Server: 2, Worker: 2 }, "worker-0"],
  ["MXJob", { TunerTracker: 1, TunerServer: 1, Tuner: 2 }, "tuner-0"],
  ["MPIJob", { Launcher: 1, Worker: 2 }, "launcher"],
  ["PaddleJob", { Worker: 2 }, "worker-0"],
  ["PaddleJob", { Master: 1, Worker: 2 }, "worker-0"],
  ["PaddleJob", { Master: 1 }, "master-0"],
  ["JAXJob", { Worker: 2 }, "worker-0"],
  // Types are matched in any case.
  ["MXJob", { scheduler: 1, server: 1, worker: 1 }, "worker-0"],
];

/** The names of the pods that the engine makes for a job, and that are primary for it. */
function primaryPods(name: V1KindName, types: Types): string[] {
  const kind = JOB_KINDS.all.find((it) => it.kind === name);
  assert.ok(kind);
  const { plan } = deriveJobPlan(kind, jobSchema.parse(v1Job(name, types)), ALL_PLAIN);
  assert.ok(plan?.mapping);
  const { mapping } = plan;
  const run = v1Run(name, types);
  const pods = run.replicas.flatMap((of) =>
    Array.from(
      { length: of.count },
      (_, index) => podOf(run, KIND_RULES[V1_KINDS[name].kind], { of, index }),
    )
  );
  return pods.filter(({ metadata }) => isPrimaryPod(mapping, metadata?.labels))
    .map(({ metadata }) => metadata?.name ?? "");
}

for (const [kind, types, pod] of CASES) {
  Deno.test(`the ${pod} counts of a ${kind} with ${Object.keys(types).join(", ")}`, () => {
    assert.deepEqual(primaryPods(kind, types), [`j-${pod}`]);
  });
}
