/** Tests of the training program in Python, from `examples/`. */
import assert from "node:assert/strict";
import { exampleJob, exampleRuntime, trainingProgram } from "../../app/demo/examples.ts";
import { KINDS } from "../../crds/kinds.ts";
import { isInstalled } from "../support/command.ts";
import { trainJobThat, withStandalone } from "../support/standalone.ts";

const hasPython = await isInstalled("python3");
// deno-lint-ignore no-console -- a word to whoever runs the tests
if (!hasPython) console.log("python3 is not installed: the Python example's test is skipped");

Deno.test({
  name: "the Python example trains on two nodes and reports by the injected variables alone",
  ignore: !hasPython,
  fn: () =>
    withStandalone(async ({ client }) => {
      await client.create(KINDS.configMap, trainingProgram("default"));
      await client.create(KINDS.clusterTrainingRuntime, exampleRuntime());
      const job = exampleJob("python", "default");
      const trainer = { ...job.spec.trainer, numNodes: 2, env: [{ name: "EPOCHS", value: "5" }] };
      await client.create(KINDS.trainJob, { ...job, spec: { ...job.spec, trainer } });
      await trainJobThat(client, "python", "completes", (it) => it.status?.state === "Complete");
      const { status } = await trainJobThat(
        client,
        "python",
        "shows its last progress",
        (it) => it.status?.trainerStatus?.progressPercentage === 100,
      );
      const accuracy = status?.trainerStatus?.metrics?.find((it) => it.name === "accuracy");
      assert.ok(Number(accuracy?.value) > 0.5, JSON.stringify(status?.trainerStatus));
    }),
});
