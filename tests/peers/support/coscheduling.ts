/** The coscheduling plugin of scheduler-plugins on a real control plane: its scheduler and its controller. */
import { KINDS } from "../../../crds/kinds.ts";
import type { ControlPlane } from "../../cluster/control_plane/control_plane.ts";
import { crdsServed } from "../../cluster/support/installation.ts";
import { freePort } from "../../support/free_port.ts";
import { applyFiles, type GangScheduler, schedulerProgram, startAll } from "./gang_scheduler.ts";
import type { Peer } from "./peer.ts";

const SCHEDULER_NAME = "scheduler-plugins-scheduler";

/** As in manifests/coscheduling/scheduler-config.yaml, in a profile of its own name. */
function configuration(kubeconfig: string) {
  const plugin = { name: "Coscheduling" };
  return {
    apiVersion: "kubescheduler.config.k8s.io/v1",
    kind: "KubeSchedulerConfiguration",
    leaderElection: { leaderElect: false },
    clientConnection: { kubeconfig },
    profiles: [{
      schedulerName: SCHEDULER_NAME,
      plugins: {
        multiPoint: { enabled: [plugin] },
        queueSort: { enabled: [plugin], disabled: [{ name: "*" }] },
      },
    }],
  };
}

async function start(plane: ControlPlane, { programs, sources }: Peer) {
  const manifests = `${sources}/manifests`;
  await applyFiles(plane, [
    `${manifests}/coscheduling/crd.yaml`,
    // The controller ends without it.
    `${manifests}/capacityscheduling/crd.yaml`,
  ]);
  await crdsServed(plane, []);
  const who = { user: "coscheduling", groups: ["system:masters"] };
  const kubeconfig = await plane.kubeconfigFor("coscheduling", who);
  const file = `${plane.folder}/coscheduling.json`;
  await Deno.writeTextFile(file, JSON.stringify(configuration(kubeconfig)));
  const [metrics, probes] = [freePort(), freePort()];
  return await startAll([
    schedulerProgram(plane, {
      name: "coscheduling-controller",
      program: programs.controller ?? "controller",
      args: [
        `--kubeconfig=${kubeconfig}`,
        `--metricsAddr=127.0.0.1:${metrics}`,
        `--probeAddr=127.0.0.1:${probes}`,
      ],
      healthUrl: `http://127.0.0.1:${probes}/healthz`,
    }),
    schedulerProgram(plane, {
      name: "coscheduling-scheduler",
      program: programs.scheduler ?? "scheduler",
      args: [`--config=${file}`, "--secure-port=0", "--v=3"],
    }),
  ]);
}

export const COSCHEDULING_PEER: GangScheduler = {
  peer: {
    module: "coscheduling",
    goModule: "sigs.k8s.io/scheduler-plugins",
    programs: ["scheduler", "controller"],
  },
  schedulerName: SCHEDULER_NAME,
  podGroupPolicy: { coscheduling: { scheduleTimeoutSeconds: 15 } },
  podGroup: KINDS.coschedulingPodGroup,
  countsSucceeded: false,
  keepsRoom: false,
  start,
};
