/** Tests of the image and the workflows: the same versions, users and steps as in the project. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { parse as parseYaml } from "yaml";
import { z } from "zod";
import manifest from "../../deno.json" with { type: "json" };
import { TARGETS } from "../../build/compile.ts";
import { parts } from "../../deploy/parts.ts";
import { generatedFiles } from "../../deploy/generate.ts";
import { DEFAULTS, imageIn } from "../../deploy/installation_settings.ts";
import { run } from "../support/command.ts";

const root = new URL("../../", import.meta.url);
const read = (path: string) => Deno.readTextFile(new URL(path, root));

const stepSchema = z.looseObject({ uses: z.string().optional(), run: z.string().optional() });
const workflowSchema = z.looseObject({
  permissions: z.record(z.string(), z.string()),
  env: z.record(z.string(), z.string()).default({}),
  jobs: z.record(
    z.string(),
    z.looseObject({
      needs: z.union([z.string(), z.array(z.string())]).optional(),
      permissions: z.record(z.string(), z.string()).optional(),
      steps: z.array(stepSchema).optional(),
    }),
  ),
});

async function workflow(name: string) {
  const { permissions, env, jobs } = workflowSchema.parse(
    parseYaml(await read(`.github/workflows/${name}.yml`)),
  );
  return { permissions, env, jobs, steps: Object.values(jobs).flatMap(({ steps }) => steps ?? []) };
}

const VERSION = Deno.version.deno;
const [LOCAL = ""] = DEFAULTS.image.split(":");

Deno.test("the Containerfile ends as the user that the Deployment asks for", async () => {
  const text = await read("Containerfile");
  const deployment = JSON.stringify(parts(DEFAULTS).manager);
  const [, user] = /^USER (\d+):\d+$/m.exec(text) ?? [];
  assert.ok(user && deployment.includes(`"runAsUser":${user}`), `USER ${user}`);
  assert.match(text, new RegExp(`^ARG DENO_RELEASE=${VERSION.replaceAll(".", "\\.")}$`, "m"));
  assert.match(text, /^FROM \S*distroless\S*:nonroot@/m);
  for (const port of deployment.match(/(?<="containerPort":)\d+/g) ?? []) {
    assert.match(text, new RegExp(`^EXPOSE .*\\b${port}\\b`, "m"));
  }
});

for (const name of ["ci", "release"]) {
  Deno.test(`the workflow ${name} uses this Deno, and tasks that exist`, async () => {
    const { permissions, steps } = await workflow(name);
    assert.deepEqual(permissions, { contents: "read" }, "a job asks for more where it needs it");
    const tasks = new Set(Object.keys(manifest.tasks));
    for (const { uses, run = "", with: settings } of steps) {
      if (uses?.startsWith("denoland/setup-deno")) {
        assert.partialDeepStrictEqual(settings, { "deno-version": VERSION });
      }
      for (const [, task = ""] of run.matchAll(/deno task ([\w:]+)/g)) {
        assert.ok(tasks.has(task), `deno.json has no task ${task}`);
      }
    }
  });
}

Deno.test("the release makes the executables for the machines of the image", async () => {
  const text = await read(".github/workflows/release.yml");
  for (const machine of Object.keys(TARGETS)) {
    assert.match(text, new RegExp(`platforms: .*linux/${machine}`));
  }
});

Deno.test("a release names the image that it pushes, by its digest, and publishes what was made once", async () => {
  const { env, jobs, steps } = await workflow("release");
  assert.deepEqual(env, { IMAGE: "ghcr.io/${{ github.repository }}" });
  const names = jobs.image?.steps?.find(({ id }) => id === "names");
  assert.partialDeepStrictEqual(names, {
    with: { images: "${{ env.IMAGE }}", tags: "type=semver,pattern={{version}}" },
  });
  assert.partialDeepStrictEqual(jobs.image?.steps?.find(({ id }) => id === "push"), {
    with: { push: true, tags: "${{ steps.names.outputs.tags }}" },
  });
  // The name of an image is in lower case, as the action that names it has it, too.
  const made = steps.filter(({ run = "" }) => run.includes("deno task release"));
  assert.deepEqual(made.map(({ run, env }) => [run, env]), [[
    'deno task release --image "${IMAGE,,}" --digest "$DIGEST" --repository "$GITHUB_REPOSITORY"',
    { DIGEST: "${{ needs.image.outputs.digest }}" },
  ]]);
  // What is published is what was made, and nothing is before it is signed.
  for (const [name, { needs, steps = [] }] of Object.entries(jobs)) {
    if (!["npm", "pypi", "chart", "release"].includes(name)) continue;
    assert.ok(steps.some(({ run }) => run === "cd release && sha256sum --check SHA256SUMS"), name);
    assert.deepEqual(needs, name === "release" ? ["npm", "pypi", "chart"] : "signed");
  }
});

Deno.test("a release is refused whose tag is not the version, or that is published already", async () => {
  const { jobs } = await workflow("release");
  const commands = jobs.unpublished?.steps?.map(({ run }) => run) ?? [];
  assert.ok(commands.includes('test "v$(jq -r .version deno.json)" = "$GITHUB_REF_NAME"'));
  assert.ok(commands.includes('deno run -A build/release/unpublished.ts "$GITHUB_REPOSITORY"'));
  assert.deepEqual(jobs.image?.needs, ["ci", "unpublished"]);
});

Deno.test("only the jobs that publish may, and none of them runs what it has downloaded to build", async () => {
  const { jobs } = await workflow("release");
  const rights = Object.entries(jobs).map(([name, { permissions = {} }]) => [
    name,
    Object.entries(permissions).filter(([, right]) => right === "write").map(([what]) => what)
      .sort().join(" "),
  ]);
  assert.deepEqual(Object.fromEntries(rights), {
    ci: "",
    unpublished: "",
    image: "attestations id-token packages",
    files: "",
    signed: "attestations id-token",
    npm: "id-token",
    pypi: "id-token",
    chart: "packages",
    release: "contents",
  });
});

Deno.test("generatedFiles() name the image of the settings everywhere", () => {
  const image = imageIn("ghcr.io/somebody/milepost");
  const files = Object.entries(generatedFiles({ ...DEFAULTS, image }));
  assert.deepEqual(files.filter(([, text]) => text.includes(LOCAL)), []);
  const container = new RegExp(`^ *image: ${image.replaceAll(".", "\\.")}$`, "m");
  const named = files.filter(([, text]) => container.test(text)).map(([path]) => path);
  assert.deepEqual(named.sort(), [
    "kustomize/base/manager.yaml",
    "kustomize/components/observation-log/observation_log.yaml",
    "kustomize/components/ui/ui.yaml",
  ]);
  const values = generatedFiles({ ...DEFAULTS, image })["helm/milepost/values.yaml"] ?? "";
  assert.partialDeepStrictEqual(parseYaml(values), {
    image: { repository: "ghcr.io/somebody/milepost", tag: "" },
  });
});

Deno.test("a clone's examples and docs name the image of its manifests", async () => {
  const paths = [
    "Containerfile",
    "README.md",
    "docs/start/cluster.md",
    "docs/guides/install.md",
    "examples/runtime.yaml",
    "examples/trial-controller/controller.yaml",
  ];
  for (const path of paths) {
    const named = (await read(path)).match(/[\w./-]*\/milepost:\d[\w.]*/g) ?? [];
    const images = new Set(named.map((it) => it.replace("REGISTRY/milepost", LOCAL)));
    assert.deepEqual([...images], [DEFAULTS.image], path);
  }
});

Deno.test("deno task manifests --image refuses what is no repository", async () => {
  for (const image of ["ghcr.io/Somebody/milepost", "ghcr.io/somebody/milepost:1.0", "milepost"]) {
    const { code, stderr } = await run(Deno.execPath(), {
      args: ["run", "-A", "--no-check", "deploy/generate.ts", "--check", "--image", image],
      cwd: fileURLToPath(root),
    });
    assert.equal(code, 1);
    assert.ok(stderr.includes("--image: must be a registry and a path in lower case"), stderr);
  }
});
