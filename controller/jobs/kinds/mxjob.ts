/** MXJob: MXNet's scheduler, servers and workers, or a tuner of TVM. */
import type { EnvVar } from "../../../platform/kube/kubernetes.ts";
import { V1_KINDS } from "../../../crds/v1/kinds.ts";
import type { KindRules } from "../kind_rules.ts";
import { type Replica, replicaName, type Replicas, replicasOf, type Run } from "../run.ts";
import { variableBytes } from "../../job_bounds.ts";
import { mostContainers, namesOf, portOf, variables } from "./rendezvous.ts";
import { decidedBy } from "./verdicts.ts";

const kind = V1_KINDS.MXJob;
const CONFIG = "MX_CONFIG";
const TUNES = "MXTune";
/** Annotation of a tuner's template with the key under which it is known to the tracker. */
const TUNER_KEY = "tuner-server-key";

const keyOf = ({ type }: Replicas) => type.toLowerCase();
const countOf = (run: Run, type: string) => replicasOf(run, type)?.count ?? 0;

/** Where the replicas of a type are. */
function placesOf(run: Run, of: Replicas) {
  const port = portOf(run, of);
  return namesOf(run, of).map((url) => ({ url, port }));
}

function configOf(run: Run, { of, index }: Replica) {
  const types = [...run.replicas].sort((a, b) => keyOf(a) < keyOf(b) ? -1 : 1);
  const places = (it: Replicas) => [...placesOf(run, it)];
  const label = ({ template }: Replicas) => template.metadata?.annotations?.[TUNER_KEY] ?? "";
  return {
    cluster: Object.fromEntries(types.map((it) => [keyOf(it), places(it)])),
    labels: Object.fromEntries(types.map((it) => [keyOf(it), label(it)])),
    task: { type: keyOf(of), index },
  };
}

/** The variable as if no type had replicas, then each of these as JSON has it. */
function* configPieces(run: Run): Generator<string> {
  const [of] = run.replicas;
  if (of === undefined) return;
  const empty = { ...run, replicas: run.replicas.map((it) => ({ ...it, count: 0 })) };
  yield JSON.stringify(configOf(empty, { of, index: Number.MAX_SAFE_INTEGER }));
  for (const of of run.replicas) {
    for (const place of placesOf(run, of)) yield `${JSON.stringify(place)},`;
  }
}

function environment(run: Run, replica: Replica): EnvVar[] {
  const { of, index } = replica;
  const scheduler = replicasOf(run, "Scheduler");
  return variables({
    [CONFIG]: JSON.stringify(configOf(run, replica)),
    DMLC_PS_ROOT_PORT: scheduler ? portOf(run, scheduler) : 0,
    DMLC_PS_ROOT_URI: scheduler ? replicaName(run, { of: scheduler, index: 0 }) : "",
    DMLC_NUM_SERVER: countOf(run, "Server"),
    DMLC_NUM_WORKER: countOf(run, "Worker"),
    DMLC_ROLE: keyOf(of),
    DMLC_USE_KUBERNETES: 1,
    ...(of.type === "Worker" && { DMLC_WORKER_ID: index }),
  });
}

/** The type that speaks for the job: the tuner, the scheduler, or one worker that is alone. */
function deciderOf(run: Run): string | undefined {
  if (run.spec.jobMode === TUNES) return "Tuner";
  if (replicasOf(run, "Scheduler") !== undefined) return "Scheduler";
  const alone = replicasOf(run, "Server") === undefined && countOf(run, "Worker") === 1;
  return alone ? "Worker" : undefined;
}

export const mxJob: KindRules = {
  kind,
  environment,
  podLists: (run) => [{
    name: CONFIG,
    pieces: configPieces(run),
    maxBytes: variableBytes(CONFIG, mostContainers(run)),
  }],
  isMaster: (_, { of }) => of.type === "Server",
  judge: decidedBy(deciderOf),
  namesNamespace: () => false,
};
