/** Tests of admission of OptimizationJobs, through the API server of a standalone. */
import assert from "node:assert/strict";
import { parse } from "yaml";
import { KINDS } from "../../../crds/kinds.ts";
import { KubeError } from "../../../platform/kube/errors.ts";
import { shareStandalone } from "../../support/standalone.ts";

const standalone = shareStandalone();
const example = KINDS.optimizationJob.parse(parse(
  await Deno.readTextFile(
    new URL("../../../examples/search/optimizationjob.yaml", import.meta.url),
  ),
));
const PATH = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/default/optimizationjobs?dryRun=All";

/** Asks whether the example would be admitted with that spec. Returns warnings. */
async function admitted(spec: Partial<typeof example.spec> = {}): Promise<string> {
  const { headers } = await standalone().client.read(PATH, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ...example, spec: { ...example.spec, ...spec } }),
  });
  return headers.get("warning") ?? "";
}

const refused = (...words: readonly RegExp[]) => (error: unknown) => {
  assert.ok(error instanceof KubeError, String(error));
  for (const it of words) assert.match(error.message, it);
  return true;
};

Deno.test("admission admits the example of an OptimizationJob, without a warning", async () => {
  assert.equal(await admitted(), "");
});

Deno.test("admission refuses an OptimizationJob whose definition refuses it", async () => {
  await assert.rejects(
    admitted({ numTrials: 1, parallelTrials: 2 }),
    refused(/spec: Invalid value.*parallelTrials cannot exceed numTrials/),
  );
});

Deno.test("admission refuses an OptimizationJob of which nothing can be made, and names each field", async () => {
  await assert.rejects(
    admitted({
      parameters: [{ name: "n", searchSpace: { uniform: { min: "0.2", max: "2", type: "Int" } } }],
      trainJobTemplate: { spec: { runtimeRef: { name: "missing" } } },
    }),
    refused(
      /spec\.parameters\[0\]\.searchSpace\.uniform\.min: Invalid value: "0\.2": must be a whole number/,
      /spec\.trainJobTemplate\.spec\.RuntimeRef: Invalid value.*"missing" not found/,
    ),
  );
});

Deno.test("admission warns of a grid that is larger than the trials of an OptimizationJob", async () => {
  const choices = ["0.1", "0.2", "0.3"];
  const warning = await admitted({
    searchAlgorithm: { grid: {} },
    parameters: [{ name: "lr", searchSpace: { categorical: { choices } } }],
    numTrials: 2,
  });
  assert.match(warning, /spec\.numTrials: the grid has 3 points, of which 2 are tried/);
});
