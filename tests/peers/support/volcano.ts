/** Volcano on a real control plane: its scheduler and its controllers. */
import { KINDS } from "../../../crds/kinds.ts";
import type { ControlPlane } from "../../cluster/control_plane/control_plane.ts";
import { apply, crdsServed } from "../../cluster/support/installation.ts";
import { freePort } from "../../support/free_port.ts";
import { applyFiles, type GangScheduler, schedulerProgram, startAll } from "./gang_scheduler.ts";
import type { Peer } from "./peer.ts";

const NAMESPACE = "volcano-system";

/** The configuration that its installer ships. */
const CONFIGURATION = "installer/helm/chart/volcano/config/volcano-scheduler.conf";

async function start(plane: ControlPlane, { programs, sources }: Peer) {
  const crds = `${sources}/config/crd`;
  await applyFiles(plane, [`${crds}/volcano/bases`, `${crds}/jobflow/bases`]);
  await crdsServed(plane, []);
  await apply(plane, [{ apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } }]);
  const who = { user: "volcano", groups: ["system:masters"] };
  const kubeconfig = await plane.kubeconfigFor("volcano", who);
  const [controllers, scheduler, metrics] = [freePort(), freePort(), freePort()];
  const everywhere = [
    `--kubeconfig=${kubeconfig}`,
    "--leader-elect=false",
    "--enable-healthz=true",
  ];
  return await startAll([
    schedulerProgram(plane, {
      name: "volcano-controllers",
      program: programs["controller-manager"] ?? "controller-manager",
      args: [...everywhere, `--healthz-address=127.0.0.1:${controllers}`],
      healthUrl: `http://127.0.0.1:${controllers}/healthz`,
    }),
    schedulerProgram(plane, {
      name: "volcano-scheduler",
      program: programs.scheduler ?? "scheduler",
      args: [
        ...everywhere,
        `--scheduler-conf=${sources}/${CONFIGURATION}`,
        `--healthz-address=127.0.0.1:${scheduler}`,
        `--listen-address=127.0.0.1:${metrics}`,
        "--cache-dumper=false",
        "-v=3",
      ],
      healthUrl: `http://127.0.0.1:${scheduler}/healthz`,
    }),
  ]);
}

export const VOLCANO_PEER: GangScheduler = {
  peer: {
    module: "volcano",
    goModule: "volcano.sh/volcano",
    programs: ["scheduler", "controller-manager"],
  },
  schedulerName: "volcano",
  podGroupPolicy: { volcano: {} },
  podGroup: KINDS.volcanoPodGroup,
  countsSucceeded: true,
  keepsRoom: true,
  start,
};
