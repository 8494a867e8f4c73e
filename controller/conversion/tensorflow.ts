/** Conversion of TFJobs: a replicated job for each type, which the tensorflow policy gives their cluster. */
import { NODE } from "../../crds/names.ts";
import { type Replicas, type Run, totalReplicas } from "../jobs/run.ts";
import type { NodesOrRefusals } from "./conversion.ts";
import { FIRST_POD_DECIDES, replicatedJob, restartRefusal } from "./replicated_job.ts";

/** Names of replicated jobs by type; Master is another word for Chief. */
const JOB_NAMES: Readonly<Record<string, string>> = {
  Chief: "chief",
  Master: "chief",
  Worker: NODE,
  PS: "ps",
  Evaluator: "evaluator",
};

function refusalsOf(run: Run): string[] {
  const { spec, replicas } = run;
  const trains = replicas.some(({ type }) => ["Chief", "Master", "Worker"].includes(type));
  return [
    ...replicas.flatMap((one) => restartRefusal(run, one) ?? []),
    ...spec.enableDynamicWorker
      ? ["spec.enableDynamicWorker: the workers of a TrainJob are fixed, and know each other"]
      : [],
    ...trains ? [] : ["spec.tfReplicaSpecs: needs a chief or workers, which end the job"],
  ];
}

/** Converts the replicas of a TFJob. */
export function tensorFlowNodes(run: Run): NodesOrRefusals {
  const refusals = refusalsOf(run);
  if (refusals.length > 0) return { refusals };
  const workers = run.replicas.find(({ type }) => type === "Worker");
  const chief = run.replicas.find(({ type }) => JOB_NAMES[type] === "chief");
  const isAlone = totalReplicas(run) === 1;
  const worker0 = chief === undefined && run.spec.successPolicy !== "AllWorkers" &&
    (workers?.count ?? 0) > 1;
  const jobOf = (replicas: Replicas) =>
    replicatedJob(run, replicas, {
      name: isAlone ? NODE : JOB_NAMES[replicas.type] ?? replicas.type.toLowerCase(),
      isTrainer: isAlone || replicas === workers,
      variables: () => [],
      ...worker0 && replicas === workers ? { job: FIRST_POD_DECIDES } : {},
    });
  const numNodes = workers?.count ?? 1;
  return {
    // A single replica has no TF_CONFIG.
    mlPolicy: isAlone ? { numNodes } : { numNodes, tensorflow: {} },
    replicatedJobs: run.replicas.map(jobOf),
    ...isAlone ? {} : { successOf: [chief === undefined ? NODE : "chief"] },
    ...workers === undefined && !isAlone ? {} : { numNodes },
    notes: [
      ...isAlone ? [] : ["TF_CONFIG has other host names; its types and indexes are the same."],
      ...run.replicas.some(({ type }) => type === "Evaluator")
        ? [
          "The evaluator is not in the cluster of TF_CONFIG; its own task is evaluator 0, as before.",
        ]
        : [],
      ...isAlone ? [] : ["mlPolicy.tensorflow needs Milepost's definitions of runtimes."],
    ],
  };
}
