/** Test of OptimizationJobs on a real control plane: forty trials, none twice, although the leader is killed five times. */
import assert from "node:assert/strict";
import { KINDS } from "../../crds/kinds.ts";
import { LABELS, TRAINJOB_CONDITIONS } from "../../crds/names.ts";
import { type OptimizationJob, optimizationJobSchema } from "../../crds/optimization_job.ts";
import { readTrialRecords } from "../../crds/trial_records.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { isConditionTrue, trueCondition } from "../../platform/kube/conditions.ts";
import { getOrUndefined } from "../../platform/kube/upsert.ts";
import { readSearch } from "../../trials/search/search_plan.ts";
import { parameter } from "../trials/search/builders.ts";
import { shellRuntime } from "../support/standalone.ts";
import { until } from "../support/until.ts";
import { creations } from "./support/conserved.ts";
import type { TestManager } from "./support/installation.ts";
import { shareCluster } from "./support/shared_cluster.ts";
import { metricOf, SHORT_LEASE } from "./support/way.ts";

const withSharedCluster = shareCluster();

const [TRIALS, PARALLEL, KILLS] = [40, 8, 5];
/** Nobody executes JobSets: the test says when they end. */
const FLAGS = { ...SHORT_LEASE, jobset: "external" };
const inDefault = (name: string) => ({ namespace: "default", name });

/** The searches: a random one with a seed, and a grid that has as many points. */
const PARAMETERS = {
  random: {
    algorithm: { random: { seed: 11 } },
    parameters: ["x uniform -5 5", "N uniform 1 9 Int"],
  },
  grid: {
    algorithm: { grid: {} },
    parameters: ["x categorical -2 -1 0 1 2", "N categorical 1 2 3 4 5 6 7 8"],
  },
} as const;
type Name = keyof typeof PARAMETERS;
const NAMES: readonly Name[] = ["random", "grid"];

function search(name: Name): OptimizationJob {
  const { algorithm, parameters } = PARAMETERS[name];
  return optimizationJobSchema.parse({
    apiVersion: "trainer.kubeflow.org/v1alpha1",
    kind: "OptimizationJob",
    metadata: inDefault(name),
    spec: {
      objectives: [{ metric: "loss" }],
      searchAlgorithm: algorithm,
      parameters: parameters.map(parameter),
      numTrials: TRIALS,
      parallelTrials: PARALLEL,
      trainJobTemplate: { spec: { runtimeRef: { name: "idle" } } },
    },
  });
}

/** What the trials compute of their values. */
const lossOf = ([x = "", n = ""]: readonly string[]) =>
  (Number(x) - 0.7) ** 2 + (Number(n) - 4) ** 2;

const hasEnded = ({ status }: TrainJob) => {
  const { complete, failed } = TRAINJOB_CONDITIONS;
  return isConditionTrue(status?.conditions, complete, failed);
};

async function trialsOf(client: KubeClient, name: Name): Promise<TrainJob[]> {
  const labelSelector = `${LABELS.optimizationJob}=${name}`;
  return (await client.list(KINDS.trainJob, { namespace: "default", labelSelector })).items;
}

/** Ends a trial as its pods and the executor would: with the loss of its values. Returns whether it could. */
async function complete(client: KubeClient, { metadata, spec }: TrainJob): Promise<boolean> {
  const key = inDefault(metadata.name ?? "");
  if (await getOrUndefined(client, KINDS.jobSet, key) === undefined) return false;
  const [x, n] = ["KUBEFLOW_TRAINER_OPT_x", "KUBEFLOW_TRAINER_OPT_N"].map((it) =>
    spec.trainer?.env?.find(({ name }) => name === it)?.value ?? ""
  );
  const now = new Date().toISOString().replace(/\.\d+Z$/, "Z");
  const metrics = [{ name: "loss", value: String(lossOf([x ?? "", n ?? ""])) }];
  const status = { trainerStatus: { metrics, lastUpdatedTime: now } };
  const subresource = { subresource: "status" };
  await client.patch(KINDS.trainJob, key, { type: "merge", body: { status } }, subresource);
  const condition = {
    type: "Completed",
    status: "True",
    reason: "AllJobsCompleted",
    message: "done",
    lastTransitionTime: now,
  };
  const body = { status: { conditions: [condition] } };
  await client.patch(KINDS.jobSet, key, { type: "merge", body }, subresource);
  return true;
}

/** Ends trials until all have; `onCompleted` is called with how many were ended so far. */
async function completeAll(
  client: KubeClient,
  onCompleted: (count: number) => Promise<void>,
): Promise<void> {
  const done = new Set<string>();
  let mostOpen = 0;
  await until("all trials have ended", async () => {
    for (const name of NAMES) {
      const open = (await trialsOf(client, name)).filter((it) => !hasEnded(it));
      mostOpen = Math.max(mostOpen, open.length);
      for (const trial of open) {
        const uid = trial.metadata.uid ?? "";
        if (done.has(uid) || !await complete(client, trial)) continue;
        await onCompleted(done.add(uid).size);
      }
    }
    return done.size >= NAMES.length * TRIALS;
  }, { timeoutMs: 180_000, everyMs: 100 });
  assert.equal(mostOpen, PARALLEL, "trials that ran at a time");
}

const leads = async (manager: TestManager) => await metricOf(manager, "milepost_leader") === 1;

/** Kills the one of two managers that leads, and starts it again. */
async function killLeader(managers: readonly TestManager[]): Promise<void> {
  const leader = await until("one leads", async () => {
    for (const it of managers) if (await leads(it)) return it;
  });
  await leader.kill("SIGKILL");
  await leader.restart();
}

Deno.test("forty trials are made, none twice and with the same best, although the leader is killed five times", () =>
  withSharedCluster(async ({ plane, installation, manager }) => {
    const { client } = plane;
    const managers = [manager, await installation.startManager({ flags: FLAGS })];
    await client.create(KINDS.clusterTrainingRuntime, shellRuntime("idle", "true"));
    const searches = new Map<Name, OptimizationJob>();
    for (const name of NAMES) {
      searches.set(name, await client.create(KINDS.optimizationJob, search(name)));
    }
    let kills = 0;
    await completeAll(client, async (count) => {
      if (kills >= KILLS || count < (kills + 1) * 12) return;
      kills++;
      await killLeader(managers);
    });
    assert.equal(kills, KILLS);
    const made = await creations(plane, "trainjobs");
    for (const [name, job] of searches) {
      const { status } = await until(`${name} ends`, async () => {
        const now = await client.get(KINDS.optimizationJob, inDefault(name));
        return trueCondition(now.status?.conditions, "Complete", "Failed") && now;
      });
      const { data } = await client.get(KINDS.configMap, inDefault(`${name}-trials`));
      const records = [...readTrialRecords(data).trials.values()];
      const trials = await trialsOf(client, name);
      assert.equal(trials.length, TRIALS);
      assert.equal(records.length, TRIALS);
      assert.deepEqual(
        records.map(({ uid }) => uid).sort(),
        trials.map(({ metadata }) => metadata.uid).sort(),
      );
      for (const { metadata } of trials) assert.equal(made.get(`default/${metadata.name}`), 1);
      assert.ok(records.every(({ state }) => state === "Complete"), JSON.stringify(records));
      // The same without a kill: values follow from the search, and losses from values.
      const { valuesOf } = readSearch(job);
      const all = Array.from({ length: TRIALS }, (_, index) => valuesOf(index));
      const best = all.reduce((one, other) => lossOf(other) < lossOf(one) ? other : one);
      assert.deepEqual(status?.result?.parameters?.map(({ value }) => value), best);
      assert.equal(new Set(all.map((it) => it.join())).size, TRIALS);
    }
  }, { node: false, flags: FLAGS }));
