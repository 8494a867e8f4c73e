/** Tests of the example trial controller in a whole Milepost: it survives being killed, and catches up. */
import assert from "node:assert/strict";
import { controllerObjects, kindOf, TRIAL_CONTROLLER } from "./controller_objects.ts";
import { exampleRuntime, trainingProgram } from "../../../app/demo/examples.ts";
import type { Standalone } from "../../../app/standalone/standalone.ts";
import { JOB_KINDS } from "../../../crds/job_kinds.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { listSearches } from "../../../page/trials/search_kinds.ts";
import { boundedReads } from "../../../views/details/bounded_reads.ts";
import { processesThatMention } from "../../support/processes.ts";
import { trainJobThat, withStandalone } from "../../support/standalone.ts";
import { until } from "../../support/until.ts";
import { podLog } from "../../support/pod_log.ts";

const NAMESPACE = "default";
/** Short trials: twenty reports each, judged at the third. */
const SETTINGS = { LEARNING_RATES: "0.5,0.2,1,0.02,2", EPOCHS: "400", START_STEP: "3" };

async function install({ client, server, status }: Standalone): Promise<void> {
  await client.create(KINDS.configMap, trainingProgram(NAMESPACE));
  await client.create(KINDS.clusterTrainingRuntime, exampleRuntime());
  const env = { API_SERVER: server, OBSERVATIONS: status, ...SETTINGS };
  for (const object of controllerObjects(NAMESPACE, env)) {
    await client.create(kindOf(object), object);
  }
}

/** A TrainJob that is there before the controller, and never runs. */
function suspendedJob(name: string) {
  return KINDS.trainJob.parse({
    apiVersion: "trainer.kubeflow.org/v1alpha1",
    kind: "TrainJob",
    metadata: { name, namespace: NAMESPACE },
    spec: { runtimeRef: { name: "digits" }, suspend: true },
  });
}

/** Output of the controller since its last start. */
async function linesOf({ client }: Standalone): Promise<Record<string, unknown>[]> {
  const labelSelector = `batch.kubernetes.io/job-name=${TRIAL_CONTROLLER}`;
  const { items: [pod] } = await client.list(KINDS.pod, { namespace: NAMESPACE, labelSelector });
  const text = await podLog(client, pod?.metadata?.name ?? "", NAMESPACE) ?? "";
  return text.trim().split("\n").filter((it) => it !== "").map((it) => JSON.parse(it));
}

/** The list of searches, as the page has it. */
const listed = (client: Standalone["client"]) =>
  listSearches({
    ...boundedReads(client, new AbortController().signal),
    kinds: JOB_KINDS,
    viewer: "",
  }, []);

/** Kills the controller's process, wherever it is. */
async function kill({ folder }: Standalone): Promise<void> {
  const killed = await until("the controller's process", async () => {
    const found = [...await processesThatMention(folder)]
      .filter(([, command]) => command.includes("example trial-controller"));
    return found.length > 0 ? found : undefined;
  });
  for (const [pid] of killed) {
    try {
      Deno.kill(pid, "SIGKILL");
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error; // It went with the one before.
    }
  }
}

Deno.test("the example trial controller continues where it was killed, and past a deleted trial", () =>
  withStandalone(async (standalone) => {
    const { client } = standalone;
    await install(standalone);
    await client.create(KINDS.trainJob, suspendedJob("digits-5"));
    const isOver = ({ status }: { status?: { state?: string | undefined } | undefined }) =>
      ["Complete", "EarlyStopped"].includes(status?.state ?? "");
    await trainJobThat(client, "digits-1", "is over", isOver);
    await kill(standalone);
    await until("the controller has come to its last trial", async () => {
      const lines = await linesOf(standalone).catch(() => []);
      return lines.some(({ trial }) => trial === "digits-5");
    }, { timeoutMs: 120_000 });
    await client.delete(KINDS.trainJob, { namespace: NAMESPACE, name: "digits-5" });
    await until("the controller is done", async () => {
      const key = { namespace: NAMESPACE, name: TRIAL_CONTROLLER };
      const { status } = await client.get(KINDS.job, key);
      return status?.conditions?.some((it) => it.type === "Complete" && it.status === "True");
    }, { timeoutMs: 120_000 });

    const { items } = await client.list(KINDS.trainJob, { namespace: NAMESPACE });
    assert.deepEqual(
      items.map(({ metadata, status }) => [metadata.name, status?.state]).toSorted(),
      [
        ["digits-1", "Complete"],
        ["digits-2", "Complete"],
        ["digits-3", "Complete"],
        ["digits-4", "EarlyStopped"],
      ],
    );
    const [search, ...others] = (await listed(client)).searches;
    assert.deepEqual(others, []);
    const objective = { metric: "loss", direction: "minimize", strategy: "latest" };
    assert.deepEqual(search?.objective, objective, "without a manager only the newest is known");
    assert.equal(
      search?.best?.trial,
      "digits-3",
      "the list of searches says which one is the best",
    );
    const lines = await linesOf(standalone);
    // A TrainJob that was made a moment ago has no CA beside it yet: 404, and it is asked for again.
    const problems = lines.filter(({ error }) => error !== undefined && !/404/.test(String(error)));
    assert.deepEqual(problems, []);
    const ended = lines.filter(({ state }) => state !== undefined);
    assert.equal(ended.length, 5, "it tells of every trial, also of those that it had not watched");
    const [first] = ended.filter(({ trial }) => trial === "digits-1");
    assert.ok(Number(first?.steps) >= 8, "and of all reports that were before");
    const deleted = ended.filter(({ state }) => state === "Deleted");
    assert.deepEqual(deleted.map(({ trial }) => trial), ["digits-5"]);
    assert.equal(lines.at(-1)?.best, "digits-3");
  }));
