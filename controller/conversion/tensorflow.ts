/** Conversion of TFJobs: a replicated job for each type, which the tensorflow policy gives their cluster. */
import { NODE } from "../../crds/names.ts";
import { TENSORFLOW_ENV, TENSORFLOW_PORT } from "../../crds/policy_names.ts";
import { trainingContainer } from "../jobs/defaults.ts";
import { type Replicas, type Run, totalReplicas } from "../jobs/run.ts";
import type { NodesOrRefusals } from "./conversion.ts";
import { namedReplicas, nodeNames } from "./pod_texts.ts";
import { FIRST_POD_DECIDES, replicatedJob, restartRefusal } from "./replicated_job.ts";

/** Names of replicated jobs by type; Master is another word for Chief. */
const JOB_NAMES: Readonly<Record<string, string>> = {
  Chief: "chief",
  Master: "chief",
  Worker: NODE,
  PS: "ps",
  Evaluator: "evaluator",
};

/** A port of the user's choice: TF_CONFIG of a TrainJob has always the same. */
function portRefusal({ kind }: Run, { type, template }: Replicas): string[] {
  const ports = trainingContainer(kind, template)?.ports ?? [];
  const port = ports.find(({ name }) => name === kind.port?.name)?.containerPort;
  return port === undefined || port === TENSORFLOW_PORT ? [] : [
    `spec.tfReplicaSpecs[${type}].template.spec: the port ${kind.port?.name} is ${port}; TF_CONFIG of a TrainJob has ${TENSORFLOW_PORT}`,
  ];
}

function refusalsOf(run: Run): string[] {
  const { spec, replicas } = run;
  const trains = replicas.some(({ type }) => ["Chief", "Master", "Worker"].includes(type));
  return [
    ...replicas.flatMap((one) => restartRefusal(run, one) ?? []),
    ...spec.enableDynamicWorker
      ? ["spec.enableDynamicWorker: the workers of a TrainJob are fixed, and know each other"]
      : [],
    ...totalReplicas(run) === 1 ? [] : replicas.flatMap((one) => portRefusal(run, one)),
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
  const nameOf = ({ type }: Replicas) => isAlone ? NODE : JOB_NAMES[type] ?? type.toLowerCase();
  const names = nodeNames(run, ({ of, index }) => ({ job: nameOf(of), index }));
  const worker0 = chief === undefined && run.spec.successPolicy !== "AllWorkers" &&
    (workers?.count ?? 0) > 1;
  const jobOf = (replicas: Replicas) =>
    replicatedJob(run, replicas, {
      name: nameOf(replicas),
      isTrainer: isAlone || replicas === workers,
      variables: () => [],
      replaces: Object.values(TENSORFLOW_ENV),
      names,
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
      ...namedReplicas(run, names).map((it) =>
        `${it}, which a template names, is ${names.get(it)} now.`
      ),
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
