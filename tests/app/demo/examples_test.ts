/** Tests of the examples: they are parsed by the same schemas as everything else. */
import assert from "node:assert/strict";
import { parse as parseYaml } from "yaml";
import { exampleJob, exampleRuntime, trainingProgram } from "../../../app/demo/examples.ts";

const examples = new URL("../../../examples/", import.meta.url);

for (const job of ["softmax", "failing", "paused", "python"]) {
  Deno.test(`exampleJob() reads ${job}, which runs on the runtime of the examples`, () => {
    const trainJob = exampleJob(job, "default");
    const runtime = exampleRuntime();
    assert.equal(trainJob.metadata.name, job);
    assert.equal(trainJob.spec.runtimeRef.name, runtime.metadata.name);
  });
}

Deno.test("trainingProgram() is the ConfigMap that kustomize makes, and fits into one", async () => {
  const program = trainingProgram("default");
  const kustomization: unknown = parseYaml(
    await Deno.readTextFile(new URL("kustomization.yaml", examples)),
  );
  assert.partialDeepStrictEqual(kustomization, {
    configMapGenerator: [{
      name: program.metadata?.name,
      files: Object.keys(program.data ?? {}).map((file) => `training/${file}`),
    }],
  });
  // Twice: client-side apply keeps the object in an annotation of at most 262,144 bytes.
  assert.ok(JSON.stringify(program).length < 262_144);
});

Deno.test("the training program has the same data in both languages", () => {
  const { data = {} } = trainingProgram("default");
  for (const program of ["report.ts", "report.py"]) {
    for (const variable of ["URL", "CA_CERT", "TOKEN"]) {
      assert.ok(data[program]?.includes(`KUBEFLOW_TRAINER_STATUS_${variable}`), program);
    }
  }
  const rows = (data["digits.txt"] ?? "").trim().split("\n");
  assert.equal(rows.length, 1797);
  assert.ok(rows.every((row) => /^[0-9a-g]{64}[0-9]$/.test(row)));
});
