/** Conversion of jobs whose replicas are alike but for their rank: PyTorchJob, XGBoostJob and JAXJob. */
import type { EnvVar } from "../../platform/kube/kubernetes.ts";
import { NODE } from "../../crds/names.ts";
import type { MlPolicy } from "../../crds/training_runtime.ts";
import { KIND_RULES } from "../jobs/rules_by_kind.ts";
import { allReplicas, type Replicas, type Run, totalReplicas } from "../jobs/run.ts";
import { COMPLETION_INDEX } from "../runtime/pod_addresses.ts";
import type { NodesOrRefusals } from "./conversion.ts";
import { firstDifference } from "./first_difference.ts";
import { namedReplicas, type NodeNames, nodeNames, renamed } from "./pod_texts.ts";
import { FIRST_POD_DECIDES, replicatedJob, restartRefusal } from "./replicated_job.ts";

/** The node of each replica: that of its rank. */
const namesOf = (run: Run): NodeNames => nodeNames(run, (_, rank) => ({ job: NODE, index: rank }));

/** The variables of all ranks as those of one template; or what no template can say. */
function variablesOf(run: Run, names: NodeNames, isKept: (name: string) => boolean) {
  const rules = KIND_RULES[run.kind.kind];
  const ranks = allReplicas(run).map((replica) => rules.environment(run, replica));
  const [first = []] = ranks;
  const variables: EnvVar[] = [];
  const refusals: string[] = [];
  for (const { name } of first.filter((variable) => isKept(variable.name))) {
    const values = ranks.map((all) => all.find((it) => it.name === name)?.value);
    const [value] = values;
    const isRank = values.length > 1 && values.every((it, rank) => it === String(rank));
    if (isRank) variables.push({ name, valueFrom: COMPLETION_INDEX });
    else if (value !== undefined && values.every((it) => it === value)) {
      variables.push({ name, value: renamed(names, value) });
    } else {
      refusals.push(
        `variable ${name}: is different in each replica, which nodes of one template cannot be`,
      );
    }
  }
  return { variables, refusals };
}

/** Where two types differ that become nodes of one template. */
function differenceRefusals({ kind, replicas: [first, ...others] }: Run): string[] {
  return others.flatMap((other) => {
    if (first === undefined) return [];
    const of = ({ restartPolicy, template }: Replicas) => ({ restartPolicy, template });
    const path = firstDifference(of(first), of(other));
    return path === undefined ? [] : [
      `spec.${kind.specsKey}[${other.type}]${path}: is not that of ${first.type}; the nodes of a TrainJob are alike`,
    ];
  });
}

/** Converts the replicas to the nodes of one replicated job. */
export function alikeNodes(run: Run, { mlPolicy, fromPolicy }: {
  /** Policy of the runtime besides its number of nodes. */
  readonly mlPolicy: MlPolicy;
  /** Variables that the policy sets, so that the template need not. */
  readonly fromPolicy: readonly string[];
}): NodesOrRefusals {
  const [first] = run.replicas;
  if (first === undefined) return { refusals: [`spec.${run.kind.specsKey}: has no replicas`] };
  const names = namesOf(run);
  const { variables, refusals } = variablesOf(run, names, (name) => !fromPolicy.includes(name));
  const all = [
    ...run.replicas.flatMap((replicas) => restartRefusal(run, replicas) ?? []),
    ...differenceRefusals(run),
    ...refusals,
  ];
  if (all.length > 0) return { refusals: all };
  const numNodes = totalReplicas(run);
  const named = namedReplicas(run, names);
  const isTied = named.length > 0 ||
    variables.some(({ value }) => value?.includes(`${run.name}-${NODE}-`));
  return {
    mlPolicy: { numNodes, ...mlPolicy },
    replicatedJobs: [
      replicatedJob(run, first, {
        name: NODE,
        isTrainer: true,
        variables: () => variables,
        replaces: fromPolicy,
        names,
        ...first.type === "Master" && numNodes > 1 ? { job: FIRST_POD_DECIDES } : {},
      }),
    ],
    numNodes,
    notes: [
      ...isTied
        ? [
          `The variables name the nodes of the TrainJob ${run.name}, and count them: the runtime is only for this TrainJob.`,
        ]
        : [],
      ...named.map((it) => `${it}, which the template names, is ${names.get(it)} now.`),
      ...numNodes > 1 && run.replicas.length > 1
        ? [
          "The master is node 0, whose success is that of the job; worker i is node i + 1.",
        ]
        : [],
    ],
  };
}
