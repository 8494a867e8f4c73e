/** Objects of the tests with gang schedulers: runtimes and TrainJobs. Pure. */
import { KINDS } from "../../../crds/kinds.ts";
import { LABELS, STEPS, TRAINER_API_VERSION } from "../../../crds/names.ts";
import type { ClusterTrainingRuntime } from "../../../crds/training_runtime.ts";
import type { TrainJob } from "../../../crds/trainjob.ts";
import type { GangScheduler } from "../support/gang_scheduler.ts";

/** Processor time that each pod asks for: two find room on a played node, four on both. */
const POD_CPU = "4";

/** What the runtimes show: nodes alone, jobs before and after them, and a JobSet that restarts. */
export type RuntimeName = "nodes" | "initialized" | "launched" | "restarted";

function job(scheduler: GangScheduler, name: string, step?: string, more: object = {}) {
  const container = {
    name: name === "node" ? "node" : name,
    image: "none",
    resources: { requests: { cpu: POD_CPU } },
  };
  const { schedulerName } = scheduler;
  return {
    name,
    template: {
      metadata: { labels: step === undefined ? {} : { [LABELS.ancestorStep]: step } },
      spec: {
        backoffLimit: 0,
        template: { spec: { schedulerName, restartPolicy: "Never", containers: [container] } },
      },
    },
    ...more,
  };
}

const after = (name: string, status: string) => ({ dependsOn: [{ name, status }] });

function templateOf(scheduler: GangScheduler, name: RuntimeName) {
  const node = (more?: object) => job(scheduler, "node", STEPS.trainer, more);
  switch (name) {
    case "nodes":
      return { replicatedJobs: [node()] };
    case "initialized":
      return {
        replicatedJobs: [
          job(scheduler, STEPS.datasetInitializer, STEPS.datasetInitializer),
          node(after(STEPS.datasetInitializer, "Complete")),
        ],
      };
    case "launched":
      return {
        replicatedJobs: [node(), job(scheduler, "launcher", undefined, after("node", "Ready"))],
      };
    case "restarted":
      return { failurePolicy: { maxRestarts: 9 }, replicatedJobs: [node()] };
  }
}

/** The runtimes of a scheduler. */
export function runtimesOf(scheduler: GangScheduler): ClusterTrainingRuntime[] {
  const names: RuntimeName[] = ["nodes", "initialized", "launched", "restarted"];
  return names.map((name) =>
    KINDS.clusterTrainingRuntime.parse({
      apiVersion: TRAINER_API_VERSION,
      kind: "ClusterTrainingRuntime",
      metadata: { name, labels: { [LABELS.framework]: "plain" } },
      spec: {
        mlPolicy: { numNodes: 3 },
        podGroupPolicy: scheduler.podGroupPolicy,
        template: { spec: templateOf(scheduler, name) },
      },
    })
  );
}

/** A TrainJob of three nodes. */
export function gangOf(name: string, runtime: RuntimeName): TrainJob {
  return KINDS.trainJob.parse({
    apiVersion: TRAINER_API_VERSION,
    kind: "TrainJob",
    metadata: { name, namespace: "default" },
    spec: { runtimeRef: { name: runtime } },
  });
}
