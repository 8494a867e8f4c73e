/** PaddleJob: the master and the nodes of paddle.distributed.launch. */
import type { EnvVar } from "../../../platform/kube/kubernetes.ts";
import { V1_KINDS } from "../../../crds/v1/kinds.ts";
import type { KindRules } from "../kind_rules.ts";
import {
  type Replica,
  replicaName,
  type Replicas,
  replicasOf,
  type Run,
  totalReplicas,
} from "../run.ts";
import { portOf, variables } from "./rendezvous.ts";
import { masterDecides } from "./verdicts.ts";

const kind = V1_KINDS.PaddleJob;

/** The type whose first replica is the meeting place. */
function meetingPlace(run: Run): Replicas | undefined {
  return replicasOf(run, "Master") ?? replicasOf(run, "Worker");
}

/** Where the nodes meet: the first replica names its own address, because its name is not known yet. */
function masterEnvironment(run: Run, { of, index }: Replica): EnvVar[] {
  const place = meetingPlace(run);
  if (place === undefined) return [];
  const port = portOf(run, place);
  if (of.type !== place.type || index > 0) {
    return variables({ PADDLE_MASTER: `${replicaName(run, { of: place, index: 0 })}:${port}` });
  }
  return [
    { name: "POD_IP_DUMMY", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
    ...variables({ PADDLE_MASTER: `$(POD_IP_DUMMY):${port}` }),
  ];
}

function roleEnvironment(run: Run, { of }: Replica): EnvVar[] {
  if (replicasOf(run, "Master") === undefined) return [];
  return variables(of.type === "Master" ? { PADDLE_SERVER_NUM: 1 } : { PADDLE_TRAINER_NUM: 1 });
}

function environment(run: Run, replica: Replica): EnvVar[] {
  return [
    ...variables({
      PYTHONUNBUFFERED: 1,
      PADDLE_JOB_ID: run.name,
      PADDLE_NNODES: totalReplicas(run),
    }),
    ...masterEnvironment(run, replica),
    ...roleEnvironment(run, replica),
  ];
}

export const paddleJob: KindRules = {
  kind,
  environment,
  isMaster: (_, { of }) => of.type === "Master",
  judge: masterDecides,
  namesNamespace: (run) => replicasOf(run, "Master") === undefined,
};
