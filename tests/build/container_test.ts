/** Tests of the image and the workflows: the same versions, users and steps as in the project. */
import assert from "node:assert/strict";
import { parse as parseYaml } from "yaml";
import { z } from "zod";
import manifest from "../../deno.json" with { type: "json" };
import { parts } from "../../deploy/parts.ts";
import { DEFAULTS } from "../../deploy/installation_settings.ts";

const root = new URL("../../", import.meta.url);
const read = (path: string) => Deno.readTextFile(new URL(path, root));

const stepSchema = z.looseObject({ uses: z.string().optional(), run: z.string().optional() });
const workflowSchema = z.looseObject({
  permissions: z.record(z.string(), z.string()),
  jobs: z.record(z.string(), z.looseObject({ steps: z.array(stepSchema).optional() })),
});

async function workflow(name: string) {
  const { permissions, jobs } = workflowSchema.parse(
    parseYaml(await read(`.github/workflows/${name}.yml`)),
  );
  return { permissions, jobs, steps: Object.values(jobs).flatMap(({ steps }) => steps ?? []) };
}

const VERSION = Deno.version.deno;

Deno.test("the Containerfile ends as the user that the Deployment asks for", async () => {
  const text = await read("Containerfile");
  const deployment = JSON.stringify(parts(DEFAULTS).manager);
  const [, user] = /^USER (\d+):\d+$/m.exec(text) ?? [];
  assert.ok(user && deployment.includes(`"runAsUser":${user}`), `USER ${user}`);
  assert.match(text, new RegExp(`^ARG DENO_VERSION=${VERSION.replaceAll(".", "\\.")}$`, "m"));
  assert.match(text, /^FROM \S*distroless\S*:nonroot$/m);
  for (const port of deployment.match(/(?<="containerPort":)\d+/g) ?? []) {
    assert.match(text, new RegExp(`^EXPOSE .*\\b${port}\\b`, "m"));
  }
});

for (const name of ["ci", "release"]) {
  Deno.test(`the workflow ${name} uses pinned actions, this Deno, and tasks that exist`, async () => {
    const { permissions, steps } = await workflow(name);
    assert.deepEqual(permissions, { contents: "read" }, "a job asks for more where it needs it");
    const tasks = new Set(Object.keys(manifest.tasks));
    for (const { uses, run = "", with: settings } of steps) {
      if (uses !== undefined) assert.match(uses, /@(v\d+|[0-9a-f]{40})$/);
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
  for (const machine of ["amd64", "arm64"]) {
    assert.ok(text.includes(`deno task compile --target ${machine}`), machine);
    assert.match(text, new RegExp(`platforms: .*linux/${machine}`));
  }
});
