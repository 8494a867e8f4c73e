/** Tests of `milepost optimize` as a user runs it, on a standalone: to the end, again, with another spec, and left. */
import assert from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { milepost, milepostCommand } from "../../support/milepost_process.ts";
import { shareStandalone, shellRuntime } from "../../support/standalone.ts";
import { atTerminal } from "../../support/terminal.ts";

const standalone = shareStandalone(async (client) => {
  await client.create(KINDS.clusterTrainingRuntime, shellRuntime("idle", "exec sleep 600"));
  await client.create(KINDS.clusterTrainingRuntime, shellRuntime("silent", "true"));
});
const env = () => ({ KUBECONFIG: standalone().kubeconfig });
const folder = await Deno.makeTempDir();
Deno.test.afterAll(() => Deno.remove(folder, { recursive: true }));

/** The path of a search of two trials, of the digits unless it names a runtime. */
async function fileOf(name: string, { runtime, numTrials = 2 }: {
  runtime?: string;
  numTrials?: number;
}): Promise<string> {
  const trainer = {
    numNodes: 1,
    command: ["milepost", "example", "softmax"],
    env: [{ name: "EPOCHS", value: "3" }, { name: "REPORT_PAUSE_MS", value: "0" }],
  };
  const search = {
    apiVersion: "trainer.kubeflow.org/v1alpha1",
    kind: "OptimizationJob",
    metadata: { name },
    spec: {
      objectives: [{ metric: "loss" }],
      parameters: [{
        name: "LEARNING_RATE",
        searchSpace: { categorical: { choices: ["0.1", "0.5"] } },
      }],
      searchAlgorithm: { grid: {} },
      numTrials,
      parallelTrials: 2,
      trainJobTemplate: {
        spec: { runtimeRef: { name: runtime ?? "plain" }, ...(!runtime && { trainer }) },
      },
    },
  };
  const file = `${folder}/${name}-${numTrials}.yaml`;
  await Deno.writeTextFile(file, JSON.stringify(search));
  return file;
}
const optimize = async (...args: Parameters<typeof fileOf>) =>
  await milepost(["optimize", await fileOf(...args)], { env: env(), timeoutMs: 120_000 });

Deno.test("a search is created and followed to its end; again it is the same, and another spec is refused", async () => {
  const { code, stdout, stderr } = await optimize("short", {});
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^optimizationjob\/short in default is created\n/);
  assert.match(stdout, /^short-\w{8}-1 {2}Complete {2}loss [\d.]+ {2}LEARNING_RATE 0\.5/m);
  assert.match(stdout, /^OptimizationJob default\/short {2}Complete {2}took /m);
  assert.match(stdout, /^minimize loss {2}best [\d.]+: short-\w{8}-1 /m);
  const again = await optimize("short", {});
  assert.equal(again.code, 0, again.stderr);
  assert.match(
    again.stdout,
    /^optimizationjob\/short in default is there already, with this spec\n/,
  );
  const other = await optimize("short", { numTrials: 3 });
  assert.equal(other.code, 2);
  assert.match(
    other.stderr,
    /is another search: .*immutable.*kubectl delete optimizationjob short/,
  );
  const elsewhere = ["-n", "apart"];
  const file = `${folder}/placed.yaml`;
  const placed = { ...JSON.parse(await Deno.readTextFile(`${folder}/short-2.yaml`)) };
  placed.metadata.namespace = "default";
  await Deno.writeTextFile(file, JSON.stringify(placed));
  const misplaced = await milepost(["optimize", file, ...elsewhere], { env: env() });
  assert.equal(misplaced.code, 2);
  assert.match(misplaced.stderr, /--namespace: name the one of the file, default/);
});

Deno.test("get lists searches beside jobs, and shows one with its trials", async () => {
  await optimize("listed", {});
  const list = await milepost(["get"], { env: env() });
  assert.match(list.stdout, /^SEARCH +STATE +TRIALS +OBJECTIVE +BEST +AGE$/m);
  assert.match(
    list.stdout,
    /^listed +Complete +2 trials: 2 Complete +loss +[\d.]+ listed-\w{8}-1 /m,
  );
  const one = await milepost(["get", "optimizationjob/listed"], { env: env() });
  assert.equal(one.code, 0, one.stderr);
  assert.match(one.stdout, /^\* listed-\w{8}-1 +Complete +[\d.]+ +0\.5 /m);
  assert.match(one.stdout, /^algorithm: grid; bounds: 2 at once, 2 in all$/m);
  const json = await milepost(["get", "oj/listed", "--json"], { env: env() });
  assert.equal(json.code, 2, "the definition has no short name");
  const read = await milepost(["get", "optimizationjobs/listed", "--json"], { env: env() });
  assert.equal(JSON.parse(read.stdout).trials.length, 2);
  const none = await milepost(["get", "optimizationjob/never"], { env: env() });
  assert.equal(none.code, 2);
  assert.match(none.stderr, /there is no optimizationjob never in default/);
});

Deno.test("a search that fails is an error that says why", async () => {
  const { code, stdout, stderr } = await optimize("quiet", { runtime: "silent" });
  assert.equal(code, 1, stdout);
  assert.match(stderr, /optimizationjob\/quiet in default has failed: ./);
  assert.match(stdout, /MetricsUnavailable/);
});

Deno.test("Ctrl-C leaves a search running, and says how it is deleted", async () => {
  const command = milepostCommand("optimize", await fileOf("long", { runtime: "idle" }));
  await using screen = atTerminal(command, env());
  await screen.shows(/OptimizationJob default\/long +Running/);
  await screen.type("\x03");
  assert.equal(await screen.ended(), 130);
  assert.match(
    screen.text(),
    /goes on; this ends it: kubectl delete optimizationjob long -n default/,
  );
  const key = { namespace: "default", name: "long" };
  assert.ok(await standalone().client.get(KINDS.optimizationJob, key));
});
