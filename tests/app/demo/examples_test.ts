/** Tests of the examples: they are parsed by the same schemas as everything else. */
import assert from "node:assert/strict";
import { parse as parseYaml } from "yaml";
import { KINDS } from "../../../crds/kinds.ts";
import { openApiSchema } from "../../../crds/openapi_schema.ts";
import { trainJobSchema } from "../../../crds/trainjob.ts";
import { trialAnnotationProblems } from "../../../webhook/trial_annotations.ts";
import { EXAMPLE_PROGRAMS } from "../../../app/example/programs.ts";
import { DEFAULTS } from "../../../deploy/installation_settings.ts";
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

Deno.test("the examples run programs of the executable, in the image of the manifests", () => {
  const files = ["runtime.yaml", "trial-controller/controller.yaml", "jobs/failing.yaml"];
  const printed = "trainjob";
  const texts = files.map((file) => Deno.readTextFileSync(new URL(file, examples)));
  const names = texts.map((text) => /command: \[milepost, example, ([\w-]+)\]/.exec(text)?.[1]);
  assert.deepEqual(names, ["softmax", "trial-controller", "failing"]);
  assert.deepEqual(EXAMPLE_PROGRAMS.toSorted(), [...names, printed].toSorted());
  for (const [, image] of texts.join("").matchAll(/image: (\S+)/g)) {
    assert.equal(image, DEFAULTS.image);
  }
});

for (const [which, change] of [["as it is", ""], ["with all of its options", "$1"]] as const) {
  Deno.test(`the TrainJob to copy is one ${which}`, async () => {
    const text = await Deno.readTextFile(new URL("trainjob.yaml", examples));
    const options = /^( *)#(?! \S)(.*)$/gm;
    const read: unknown = parseYaml(change === "" ? text : text.replace(options, "$1$2"));
    const job = KINDS.trainJob.parse(read);
    const known = JSON.stringify(openApiSchema(trainJobSchema));
    for (const key of [job.spec, job.spec.trainer ?? {}].flatMap(Object.keys)) {
      assert.ok(known.includes(`"${key}":`), key);
    }
    assert.deepEqual(trialAnnotationProblems(job, undefined, () => true), []);
    assert.equal(job.spec.trainer?.image !== undefined, change !== "");
  });
}

Deno.test("the TrainJob to copy says how to run it again, and on which runtime a failure is final", async () => {
  const [text, runtime] = await Promise.all(
    ["trainjob.yaml", "runtime.yaml"].map((it) => Deno.readTextFile(new URL(it, examples))),
  );
  assert.match(text ?? "", /`generateName: my-job-`[^]*`kubectl create -f job\.yaml`/);
  const [, field = ""] =
    /a runtime with `(.+)`, such as[ #\n]+examples\/runtime\.yaml/.exec(text ?? "") ?? [];
  assert.deepEqual(parseYaml(field), { backoffLimit: 0 });
  assert.partialDeepStrictEqual(parseYaml(runtime ?? ""), {
    spec: { template: { spec: { replicatedJobs: [{ template: { spec: parseYaml(field) } }] } } },
  });
});

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
  const reports = [
    Deno.readTextFileSync(new URL("training/report.ts", examples)),
    data["report.py"] ?? "",
  ];
  for (const report of reports) {
    for (const variable of ["URL", "CA_CERT", "TOKEN"]) {
      assert.ok(report.includes(`KUBEFLOW_TRAINER_STATUS_${variable}`), variable);
    }
  }
  const rows = (data["digits.txt"] ?? "").trim().split("\n");
  assert.equal(rows.length, 1797);
  assert.ok(rows.every((row) => /^[0-9a-g]{64}[0-9]$/.test(row)));
});
