/** Tests of `controller/trainjob/trainjob_controller.ts`: its sources, and its end. */
import { deepEqual, equal, ok } from "node:assert/strict";
import {
  createTrainJobController,
  type TrainJobControllerOptions,
} from "../../../controller/trainjob/trainjob_controller.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { ANNOTATIONS, LABELS } from "../../../crds/names.ts";
import { trialName } from "../../../crds/trial_records.ts";
import { WATCHED } from "../../../crds/watched.ts";
import type { EventText } from "../../../platform/kube/event_object.ts";
import { FakeClock, settle, until } from "../../support/fake_clock.ts";
import { optimizationJob } from "../../trials/search/builders.ts";
import { nodeJob, runtime, trainJob } from "../builders.ts";
import { invalid, MemoryCluster } from "../memory_cluster.ts";

const KEY = "ml/tj";
const TLS = "ml/tj-tls-config";

interface Stage {
  readonly cluster: MemoryCluster;
  readonly clock: FakeClock;
  /** Replaces the CA, as its manager does. */
  rotate(ca: string): void;
}

/** Runs the controller during `play`, and asserts that it ends. */
async function run(
  play: (stage: Stage) => Promise<void>,
  options: Partial<TrainJobControllerOptions> = {},
  cluster = new MemoryCluster(),
): Promise<void> {
  const clock = new FakeClock();
  cluster.now = () => clock.now();
  let ca = "ONE";
  const listeners = new Set<() => void>();
  const controller = createTrainJobController({
    managerName: "milepost",
    client: cluster.client(),
    informers: {
      trainJobs: cluster.informer(KINDS.trainJob),
      trainingRuntimes: cluster.informer(KINDS.trainingRuntime),
      clusterTrainingRuntimes: cluster.informer(KINDS.clusterTrainingRuntime),
      jobSets: cluster.informer(WATCHED.jobSet),
      configMaps: cluster.informer(WATCHED.configMap, {}, LABELS.trainJobName),
      pods: cluster.informer(KINDS.pod),
    },
    events: { record: () => {} },
    clock,
    executor: () => "builtin",
    runtimeDefinitions: { droppedFor: () => Promise.resolve([]) },
    progress: {
      caBundle: () => ca,
      onCaChange(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    workers: 2,
    ...options,
  });
  const stop = new AbortController();
  const running = controller.run(stop.signal);
  try {
    await play({
      cluster,
      clock,
      rotate(next) {
        ca = next;
        for (const listener of listeners) listener();
      },
    });
  } finally {
    stop.abort();
    await running;
  }
  equal(listeners.size, 0);
}

function stateIs({ cluster }: Stage, state: string | undefined): () => boolean {
  return () => cluster.peek(KINDS.trainJob, KEY)?.status?.state === state;
}

Deno.test("createTrainJobController() follows a job from its creation to its end", async () => {
  await run(async (stage) => {
    const { cluster } = stage;
    cluster.put(KINDS.clusterTrainingRuntime, runtime());
    cluster.put(KINDS.trainJob, trainJob());
    await until("the job is created", stateIs(stage, "Created"));
    const counters = { name: "node", ready: 1, succeeded: 0, failed: 0, active: 1, suspended: 0 };
    cluster.edit(KINDS.jobSet, KEY, { status: { replicatedJobsStatus: [counters] } });
    await until("the job runs", stateIs(stage, "Running"));
    const end = {
      type: "Completed",
      status: "True",
      reason: "AllJobsCompleted",
      message: "jobset completed successfully",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    };
    cluster.edit(KINDS.jobSet, KEY, { status: { conditions: [end] } });
    await until("the job is complete", stateIs(stage, "Complete"));
    deepEqual(cluster.peek(KINDS.trainJob, KEY)?.status?.conditions, [{
      ...end,
      type: "Complete",
    }]);
  });
});

Deno.test("createTrainJobController() lets a trial go when its search has ended", async () => {
  const cluster = new MemoryCluster();
  const searches = cluster.informer(KINDS.optimizationJob);
  const search = optimizationJob({ metadata: { namespace: "ml" } });
  const name = trialName(search.metadata, 3);
  await run(
    async ({ cluster }) => {
      cluster.put(KINDS.clusterTrainingRuntime, runtime());
      const { apiVersion, kind, metadata: { uid = "" } } = search;
      const controller = { apiVersion, kind, name: "digits", uid, controller: true };
      const since = { lastTransitionTime: "2026-01-01T00:00:00Z", reason: "R", message: "m" };
      const conditions = [{ type: "Complete", status: "True", ...since }];
      cluster.put(KINDS.optimizationJob, search);
      const annotations = { [ANNOTATIONS.timeToLive]: "0" };
      const trial = trainJob({}, { name, annotations, ownerReferences: [controller] });
      cluster.put(KINDS.trainJob, { ...trial, status: { conditions } });
      await settle();
      ok(cluster.peek(KINDS.trainJob, `ml/${name}`));
      cluster.edit(KINDS.optimizationJob, "ml/digits", { status: { conditions } });
      await until("the trial is gone", () => !cluster.peek(KINDS.trainJob, `ml/${name}`));
    },
    { searches },
    cluster,
  );
});

Deno.test("createTrainJobController() does not restart a job whose finished JobSet was deleted at once", async () => {
  await run(async (stage) => {
    const { cluster } = stage;
    cluster.put(KINDS.clusterTrainingRuntime, runtime());
    cluster.put(KINDS.trainJob, trainJob());
    await until("the job is created", stateIs(stage, "Created"));
    const since = { lastTransitionTime: "2026-01-01T00:00:00Z", reason: "R", message: "m" };
    const counters = { name: "node", ready: 0, succeeded: 1, failed: 0, active: 0, suspended: 0 };
    cluster.edit(KINDS.jobSet, KEY, {
      status: {
        conditions: [{ type: "Completed", status: "True", ...since }],
        replicatedJobsStatus: [counters],
      },
    });
    cluster.remove(KINDS.jobSet, KEY);
    await until("the job is complete", stateIs(stage, "Complete"));
    equal(cluster.peek(KINDS.jobSet, KEY), undefined);
    deepEqual(cluster.peek(KINDS.trainJob, KEY)?.status?.jobsStatus, [counters]);
  });
});

Deno.test("createTrainJobController() does not wake for writes of progress", async () => {
  let reconciled = 0;
  const metrics = { reconciled: () => void reconciled++, depth: () => {} };
  await run(async (stage) => {
    const { cluster } = stage;
    cluster.put(KINDS.clusterTrainingRuntime, runtime());
    cluster.put(KINDS.trainJob, trainJob());
    await until("the job is created", stateIs(stage, "Created"));
    await settle();
    const report = (progressPercentage: number) =>
      cluster.edit(KINDS.trainJob, KEY, {
        status: {
          trainerStatus: { progressPercentage, lastUpdatedTime: "2026-01-01T00:00:00Z" },
        },
      });
    const before = reconciled;
    for (const percentage of [1, 2, 3]) {
      report(percentage);
      await settle();
    }
    equal(reconciled, before);
    // Whatever else changes is looked at, progress or not.
    cluster.edit(KINDS.trainJob, KEY, {
      status: {
        state: "Running",
        trainerStatus: { progressPercentage: 4, lastUpdatedTime: "2026-01-01T00:00:00Z" },
      },
    });
    await until("the job is looked at", () => reconciled > before);
  }, { metrics });
});

Deno.test("createTrainJobController() wakes for a pod that runs", async () => {
  await run(async (stage) => {
    stage.cluster.put(KINDS.clusterTrainingRuntime, runtime());
    stage.cluster.put(KINDS.trainJob, trainJob());
    await until("the job is created", stateIs(stage, "Created"));
    const labels = {
      "trainer.kubeflow.org/trainjob-name": "tj",
      "jobset.sigs.k8s.io/replicatedjob-name": "node",
    };
    const pod = { metadata: { name: "p", namespace: "ml", labels } };
    stage.cluster.put(KINDS.pod, { ...pod, status: { phase: "Pending" } });
    stage.cluster.put(KINDS.pod, { ...pod, status: { phase: "Running" } });
    await until("the job runs", stateIs(stage, "Running"));
  });
});

Deno.test("createTrainJobController() wakes for the runtime that a job waits for, of either kind", async () => {
  await run(async (stage) => {
    const { cluster } = stage;
    cluster.put(KINDS.trainJob, trainJob());
    const runtimeRef = { name: "rt", kind: "TrainingRuntime" };
    cluster.put(KINDS.trainJob, trainJob({ runtimeRef }, { name: "other", uid: "uid-of-other" }));
    const waits = (key: string) => () =>
      (cluster.peek(KINDS.trainJob, key)?.status?.conditions ?? []).length > 0;
    await until("both wait", () => waits(KEY)() && waits("ml/other")());
    const metadata = { name: "rt", namespace: "ml" };
    cluster.put(KINDS.trainingRuntime, { ...runtime(), kind: "TrainingRuntime", metadata });
    await until("the other began", () => cluster.peek(KINDS.jobSet, "ml/other") !== undefined);
    equal(cluster.peek(KINDS.jobSet, KEY), undefined);
    cluster.put(KINDS.clusterTrainingRuntime, runtime());
    await until("the one began", () => cluster.peek(KINDS.jobSet, KEY) !== undefined);
  });
});

Deno.test("createTrainJobController() wakes a paused job that has lost its snapshot for its runtime", async () => {
  await run(async (stage) => {
    const { cluster } = stage;
    cluster.put(KINDS.clusterTrainingRuntime, runtime());
    cluster.put(KINDS.trainJob, trainJob({ suspend: true }));
    await until("the job is paused", stateIs(stage, "Suspended"));
    const since = { lastTransitionTime: "2026-01-01T00:00:00Z", reason: "R", message: "m" };
    cluster.edit(KINDS.jobSet, KEY, {
      status: { conditions: [{ type: "Suspended", status: "True", ...since }] },
    });
    cluster.remove(KINDS.clusterTrainingRuntime, "rt");
    cluster.remove(KINDS.configMap, "ml/tj-runtime-snapshot");
    cluster.edit(KINDS.trainJob, KEY, { spec: { suspend: false } });
    await until(
      "the job waits for its runtime",
      () =>
        (cluster.peek(KINDS.trainJob, KEY)?.status?.conditions ?? [])
          .some(({ type }) => type === "ResourcesCreated"),
    );
    cluster.put(KINDS.clusterTrainingRuntime, runtime());
    await until("the job goes on", () => cluster.peek(KINDS.jobSet, KEY)?.spec?.suspend === false);
  });
});

Deno.test("createTrainJobController() wakes a running job of Kueue when its runtime is deleted", async () => {
  const reasons: string[] = [];
  const events: TrainJobControllerOptions["events"] = {
    record: (_about, { reason }) => void reasons.push(reason),
  };
  await run(async (stage) => {
    const { cluster } = stage;
    const trainingRuntimeSpec = { template: { spec: {} } };
    const runtimePatches = [{ manager: "kueue.x-k8s.io/manager", trainingRuntimeSpec }];
    cluster.put(KINDS.clusterTrainingRuntime, runtime());
    cluster.put(KINDS.trainJob, trainJob({ runtimePatches }));
    await until("the job is created", stateIs(stage, "Created"));
    cluster.remove(KINDS.clusterTrainingRuntime, "rt");
    await until("a warning about the runtime", () => reasons.includes("RuntimeMissing"));
  }, { events });
});

Deno.test("createTrainJobController() does not wake running jobs for a change of their runtime", async () => {
  await run(async (stage) => {
    const { cluster, clock } = stage;
    cluster.put(KINDS.clusterTrainingRuntime, runtime());
    cluster.put(KINDS.trainJob, trainJob());
    await until("the job is created", stateIs(stage, "Created"));
    await clock.advance(0);
    const { length } = cluster.calls;
    cluster.put(
      KINDS.clusterTrainingRuntime,
      runtime({}, { replicatedJobs: [nodeJob({ image: "acme/other:2" })] }),
    );
    await clock.advance(0);
    equal(cluster.calls.length, length);
    const container = cluster.peek(KINDS.jobSet, KEY)?.spec?.replicatedJobs?.[0]?.template.spec
      ?.template.spec?.containers[0];
    equal(container?.image, "acme/base:1");
  });
});

Deno.test("createTrainJobController() renews the CA of unfinished jobs, and of no other", async () => {
  await run(async (stage) => {
    const { cluster } = stage;
    cluster.put(KINDS.clusterTrainingRuntime, runtime());
    cluster.put(KINDS.trainJob, trainJob());
    const done = { type: "Complete", status: "True", reason: "R", message: "m" };
    const conditions = [{ ...done, lastTransitionTime: "2026-01-01T00:00:00Z" }];
    cluster.put(KINDS.trainJob, {
      ...trainJob({}, { name: "done", uid: "uid-of-done" }),
      status: { conditions },
    });
    const ca = (key: string) => cluster.peek(KINDS.configMap, key)?.data?.["ca.crt"];
    await until("the job has the CA", () => ca(TLS) === "ONE");
    stage.rotate("TWO");
    await until("the job has the new CA", () => ca(TLS) === "TWO");
    equal(ca("ml/done-tls-config"), undefined);
  });
});

Deno.test("createTrainJobController() reports a CA that the API server refuses once an hour, over many reconciles", async () => {
  const warnings: string[] = [];
  const events = {
    record(_about: unknown, { reason, message }: EventText) {
      if (reason === "TrainJobResourcesCreationFailed") warnings.push(message);
    },
  };
  await run(async (stage) => {
    const { cluster, clock, rotate } = stage;
    let refused = 0;
    cluster.faults.push(({ verb, kind, key }) => {
      if (verb === "get" || kind !== "ConfigMap" || key !== TLS) return undefined;
      refused++;
      return invalid("no ConfigMaps here");
    });
    cluster.put(KINDS.clusterTrainingRuntime, runtime());
    cluster.put(KINDS.trainJob, trainJob());
    await until("the job is created", stateIs(stage, "Created"));
    for (let turn = 0; turn < 55; turn++) {
      rotate(`CA ${turn}`);
      await clock.advance(60_000);
    }
    ok(refused >= 50, `${refused} refusals`);
    deepEqual(warnings, ["TrainJob resources reconciliation failed: no ConfigMaps here"]);
    for (let turn = 0; turn < 10; turn++) await clock.advance(60_000);
    equal(warnings.length, 2);
  }, { events });
});

Deno.test("createTrainJobController() wakes when an object in the way of a child is gone", async () => {
  await run(async ({ cluster }) => {
    cluster.put(KINDS.clusterTrainingRuntime, runtime());
    const labels = { [LABELS.trainJobName]: "tj" };
    const metadata = { name: "tj-runtime-snapshot", namespace: "ml", labels };
    cluster.put(KINDS.configMap, { metadata, data: { runtime: "x" } });
    cluster.put(KINDS.trainJob, trainJob());
    await until(
      "the job waits",
      () => (cluster.peek(KINDS.trainJob, KEY)?.status?.conditions ?? []).length > 0,
    );
    cluster.remove(KINDS.configMap, "ml/tj-runtime-snapshot");
    await until("the job began", () => cluster.peek(KINDS.jobSet, KEY) !== undefined);
  });
});

Deno.test("createTrainJobController() looks again after a ConfigMap in the way that is not watched", async () => {
  await run(async ({ cluster, clock }) => {
    cluster.put(KINDS.clusterTrainingRuntime, runtime());
    const metadata = { name: "tj-tls-config", namespace: "ml" };
    cluster.put(KINDS.configMap, { metadata, data: { "ca.crt": "foreign" } });
    cluster.put(KINDS.trainJob, trainJob());
    await until("the job began", () => cluster.peek(KINDS.jobSet, KEY) !== undefined);
    await clock.advance(0);
    equal(cluster.peek(KINDS.configMap, TLS)?.data?.["ca.crt"], "foreign");
    cluster.remove(KINDS.configMap, TLS);
    await clock.advance(300_000);
    await until("the CA is there", () => cluster.peek(KINDS.configMap, TLS) !== undefined);
    equal(cluster.peek(KINDS.configMap, TLS)?.data?.["ca.crt"], "ONE");
  });
});

Deno.test("createTrainJobController() comes back when the deadline is due", async () => {
  await run(async (stage) => {
    stage.cluster.put(KINDS.clusterTrainingRuntime, runtime());
    stage.cluster.put(KINDS.trainJob, trainJob({ activeDeadlineSeconds: 60 }));
    await until("the job is created", stateIs(stage, "Created"));
    await stage.clock.advance(62_000);
    await until("the job failed", stateIs(stage, "Failed"));
    await until(
      "its pods are ended",
      () => stage.cluster.peek(KINDS.jobSet, KEY)?.spec?.suspend === true,
    );
    // Nobody executes the JobSet here.
    await stage.clock.advance(11_000);
    await until("its JobSet is gone", () => stage.cluster.peek(KINDS.jobSet, KEY) === undefined);
  });
});

Deno.test("createTrainJobController() makes no ConfigMap of the CA if progress is off", async () => {
  await run(async (stage) => {
    stage.cluster.put(KINDS.clusterTrainingRuntime, runtime());
    stage.cluster.put(KINDS.trainJob, trainJob());
    await until("the job is created", stateIs(stage, "Created"));
    equal(stage.cluster.peek(KINDS.configMap, TLS), undefined);
  }, { progress: undefined });
});

Deno.test("createTrainJobController() starts each of many jobs once while writes fail at random", async () => {
  await run(async ({ cluster, clock }) => {
    let seed = 7;
    const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
    cluster.faults.push(({ verb }) =>
      verb !== "get" && random() < 0.2 ? new Error("broken pipe") : undefined
    );
    cluster.put(KINDS.clusterTrainingRuntime, runtime());
    const names = Array.from({ length: 50 }, (_, index) => `tj-${index}`);
    for (const name of names) cluster.put(KINDS.trainJob, trainJob({}, { name, uid: `u-${name}` }));
    for (let turn = 0; turn < 200 && cluster.all(KINDS.jobSet).length < 50; turn++) {
      await clock.advance(1000);
    }
    for (let turn = 0; turn < 60; turn++) await clock.advance(1000);
    equal(cluster.all(KINDS.jobSet).length, 50);
    equal(cluster.all(KINDS.configMap).length, 100);
    const states = cluster.all(KINDS.trainJob).map(({ status }) => status?.state);
    ok(states.every((state) => state === "Created"));
  });
});
