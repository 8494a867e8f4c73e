/** XGBoostJob: Rabit's or LightGBM's master and workers. */
import type { EnvVar } from "../../../crds/kubernetes.ts";
import { V1_KINDS } from "../../../crds/v1/kinds.ts";
import type { KindRules } from "../kind_rules.ts";
import { type Replica, replicaName, replicasOf, type Run, totalReplicas } from "../run.ts";
import { portOf, rankAfterMasters, variables } from "./rendezvous.ts";
import { decides, failsOnly } from "./verdicts.ts";

const kind = V1_KINDS.XGBoostJob;

/** The workers by name, for LightGBM; as many as there are besides one master. */
function workerEnvironment(run: Run, total: number): EnvVar[] {
  const worker = replicasOf(run, "Worker");
  if (total <= 1 || worker === undefined) return [];
  const names = Array.from(
    { length: total - 1 },
    (_, index) => replicaName(run, { of: worker, index }),
  );
  return variables({ WORKER_PORT: portOf(run, worker), WORKER_ADDRS: names.join() });
}

function environment(run: Run, { of, index }: Replica): EnvVar[] {
  const master = replicasOf(run, "Master");
  const total = totalReplicas(run);
  return [
    ...variables({
      MASTER_PORT: portOf(run, master),
      MASTER_ADDR: `${run.name}-master-0`,
      WORLD_SIZE: total,
      RANK: rankAfterMasters(run, of.type, index),
      PYTHONUNBUFFERED: 1,
    }),
    ...workerEnvironment(run, total),
  ];
}

export const xgBoostJob: KindRules = {
  kind,
  environment,
  isMaster: (_, { of }) => of.type === "Master",
  judge: (run, type, standing) =>
    type === "Master" ? decides(run, type, standing) : failsOnly(standing, type),
  namesNamespace: () => false,
};
