/** Test of fields of former TrainJobs: refused by name, with what to write in their place. */
import assert from "node:assert/strict";
import { parse as parseYaml } from "yaml";
import { KINDS } from "../../../crds/kinds.ts";
import { KubeError } from "../../../platform/kube/errors.ts";
import { blocksOf, ROOT } from "../../docs/markdown.ts";
import { shareStandalone, trainJob } from "../../support/standalone.ts";

const standalone = shareStandalone();

const FORMER: Readonly<Record<string, readonly [value: unknown, instead: string]>> = {
  podTemplateOverrides: [
    [{ targetJobs: [{ name: "node" }], spec: { nodeSelector: { zone: "a" } } }],
    "trainingRuntimeSpec.template.spec.replicatedJobs[].template.spec.template",
  ],
  labels: [{ team: "a" }, "trainingRuntimeSpec.template.metadata.labels"],
  annotations: [{ team: "a" }, "trainingRuntimeSpec.template.metadata.annotations"],
};

for (const [field, [value, instead]] of Object.entries(FORMER)) {
  Deno.test(`spec.${field} is refused with what to write in its place`, async () => {
    const job = trainJob(field.toLowerCase(), "plain", { spec: { [field]: value } });
    await assert.rejects(standalone().client.create(KINDS.trainJob, job), (error) => {
      assert.ok(error instanceof KubeError);
      assert.match(error.message, new RegExp(`spec\\.${field}: Invalid value`));
      assert.ok(error.message.includes(`write ${instead} of an item of spec.runtimePatches`));
      return true;
    });
  });
}

Deno.test("what docs/compatibility.md shows in place of podTemplateOverrides is taken", async () => {
  const page = await Deno.readTextFile(new URL("docs/compatibility.md", ROOT));
  const block = blocksOf(page).find(({ text }) => text.startsWith("runtimePatches:"));
  const { client } = standalone();
  const { spec } = KINDS.trainJob.parse({
    ...trainJob("patched", "plain"),
    spec: { ...trainJob("patched", "plain").spec, ...Object(parseYaml(block?.text ?? "")) },
  });
  const made = await client.create(KINDS.trainJob, trainJob("patched", "plain", { spec }));
  assert.equal(made.spec.runtimePatches?.[0]?.manager, "example.com/me");
});
