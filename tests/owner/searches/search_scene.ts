/** Scene of a search: a cluster in memory with its trials, and owners one after another that hear of their pushes. */
import assert from "node:assert/strict";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { ANNOTATIONS, TRAINER_API_VERSION } from "../../../crds/names.ts";
import {
  readTrialRecords,
  recordKeys,
  trialName,
  trialRecordsName,
} from "../../../crds/trial_records.ts";
import { createMemorySink } from "../../../katib/log/sqlite_sink.ts";
import type { ObservationSink } from "../../../owner/observations/sink.ts";
import { controllerReference } from "../../../platform/kube/owner_references.ts";
import type { KubeClient } from "../../../platform/kube/client.ts";
import type { ObservationPlan } from "../../../trials/plan/observation_plan.ts";
import { MemoryCluster } from "../../controller/memory_cluster.ts";
import {
  type FixtureOptions,
  type ObservationsFixture,
  withObservations,
} from "../observations/observations_fixture.ts";

const namespace = "default";

/** Halves at the steps 1, 3 and 9, with a third of the trials going on. */
const ASHA = { asha: { min_resource: 1, reduction_factor: 3 } };

/** Options of a scene. */
export interface SceneOptions {
  readonly pruner?: object | undefined;
  readonly trials?: number;
  /** Of the search; default as many as have jobs. */
  readonly numTrials?: number;
  readonly sink?: ObservationSink;
  /** Over the controller of the trials. */
  readonly controller?: { readonly uid?: string; readonly kind?: string };
  readonly hasRecords?: boolean;
  /** Values that the owner keeps in memory. */
  readonly maxValues?: number;
}

/** Creates a scene, whose caches are up to date. */
export function createScene(options: SceneOptions = {}) {
  const { pruner = ASHA, trials: count = 3, controller, hasRecords = true } = options;
  const cluster = new MemoryCluster();
  const search = cluster.put(
    KINDS.optimizationJob,
    KINDS.optimizationJob.parse({
      apiVersion: TRAINER_API_VERSION,
      kind: "OptimizationJob",
      metadata: {
        name: "digits",
        namespace,
        uid: "0123456789ab",
        annotations: "none" in pruner ? {} : { [ANNOTATIONS.pruner]: JSON.stringify(pruner) },
      },
      spec: {
        objectives: [{ metric: "loss" }],
        parameters: [{ name: "lr", searchSpace: { categorical: { choices: ["1"] } } }],
        numTrials: options.numTrials ?? count,
        trainJobTemplate: { spec: { runtimeRef: { name: "any" } } },
      },
    }),
  );
  const { name = "", uid = "" } = search.metadata;
  const owner = { apiVersion: TRAINER_API_VERSION, kind: "OptimizationJob", name, uid };
  const recordsKey = `${namespace}/${trialRecordsName(name)}`;
  const putRecords = (records: Readonly<Record<string, object>> = {}, of = uid) =>
    cluster.put(KINDS.configMap, {
      metadata: {
        namespace,
        name: trialRecordsName(name),
        ownerReferences: [controllerReference({ ...owner, uid: of })],
      },
      data: Object.fromEntries(
        Object.entries({ ...trialRecords(), ...records }).map(([k, it]) => [k, JSON.stringify(it)]),
      ),
    });
  /** What the controller has recorded of the trials that it made. */
  const trialRecords = () =>
    Object.fromEntries(plans.map(({ job: { name, uid } }, index) => [
      recordKeys.trial(index),
      { name, uid, values: ["1"], created: "2026-01-01T00:00:00Z", state: "Running" },
    ]));
  const plans = Array.from({ length: count }, (_, index): ObservationPlan => {
    const job = cluster.put(
      KINDS.trainJob,
      KINDS.trainJob.parse({
        apiVersion: TRAINER_API_VERSION,
        kind: "TrainJob",
        metadata: {
          name: trialName({ name, uid }, index),
          namespace,
          ownerReferences: [controllerReference({ ...owner, ...controller })],
        },
        spec: { runtimeRef: { name: "any" } },
      }),
    );
    const ref = { namespace, name: job.metadata.name ?? "", uid: job.metadata.uid ?? "" };
    return {
      kind: "plan",
      key: { kind: "job", ...ref },
      job: { kind: TRAINJOB, ...ref },
      records: "all",
      rules: [],
      graceMs: 0,
    };
  });
  if (hasRecords) putRecords();
  const sink = options.sink ?? createMemorySink();
  const caches = {
    optimizationJobs: cluster.informer(KINDS.optimizationJob),
    trainJobs: cluster.informer(TRAINJOB),
  };
  const planOf = (trial: number): ObservationPlan => {
    const plan = plans[trial];
    assert(plan, `the scene has trial ${trial}`);
    return plan;
  };

  return {
    cluster,
    sink,
    planOf,
    putRecords,
    /** Writes of the records so far. */
    writes: () => cluster.writes.filter(({ kind }) => kind === "ConfigMap").map(({ body }) => body),
    /** What is recorded. */
    recorded: () => readTrialRecords(cluster.peek(KINDS.configMap, recordsKey)?.data).pruning,
    /** Ends a trial as a controller does. */
    complete(trial: number): void {
      const condition = { type: "Complete", status: "True", reason: "x", message: "" };
      const { job } = planOf(trial);
      const conditions = [{ ...condition, lastTransitionTime: "2026-01-01T00:00:00Z" }];
      cluster.edit(KINDS.trainJob, `${namespace}/${job.name}`, { status: { conditions } });
    },
    /** Gives the search another pruner. */
    prune: (pruner: object) =>
      cluster.edit(KINDS.optimizationJob, `${namespace}/${name}`, {
        metadata: { annotations: { [ANNOTATIONS.pruner]: JSON.stringify(pruner) } },
      }),
    /** Deletes the search, or ends it. */
    end(how: "delete" | "complete"): void {
      if (how === "delete") return cluster.remove(KINDS.optimizationJob, `${namespace}/${name}`);
      const condition = { type: "Complete", status: "True", reason: "x", message: "" };
      cluster.edit(KINDS.optimizationJob, `${namespace}/${name}`, {
        status: { conditions: [{ ...condition, lastTransitionTime: "2026-01-01T00:00:00Z" }] },
      });
    },
    /** Runs `work` with an owner of this term. */
    async owner(
      work: (fixture: ObservationsFixture & SearchPushes) => Promise<void>,
      more: FixtureOptions = {},
      clientBy: (client: KubeClient) => KubeClient = (client) => client,
    ): Promise<void> {
      const client = clientBy(cluster.client());
      const { maxValues } = options;
      const memory = maxValues === undefined ? {} : { maxValues };
      const searches = { client, ...caches, deadlineMs: 4_000, ...memory };
      await withObservations({ sink, plans, searches, ...more }, async (fixture) => {
        await fixture.settle();
        await work({
          ...fixture,
          async report(trial, step, value) {
            const plan = planOf(trial);
            // Times show the order in which reports were told.
            const answer = await fixture.push(plan, 10 * step + trial, String(value), {
              sequence: step,
            });
            return answer?.ok ? answer.control?.message ?? "goes on" : answer?.reason ?? "none";
          },
        });
      });
    },
  };
}

/** Pushes of trials. */
export interface SearchPushes {
  /** Pushes a loss; resolves with the words of a stop, with `goes on`, or with why it was refused. */
  report(trial: number, step: number, value: number): Promise<string>;
}
