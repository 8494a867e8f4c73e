/** Tests of the options of `deno task bench katib`: it takes programs that are built, and builds none. */
import assert from "node:assert/strict";
import { readOptions } from "../../bench/katib/early_stopping.ts";

/** Katib's files, as a checkout and `go build` have them. */
async function katibFiles() {
  const folder = await Deno.makeTempDir();
  const components = `${folder}/manifests/components`;
  await Deno.mkdir(`${components}/crd`, { recursive: true });
  await Deno.mkdir(`${components}/webhook`);
  const crds = ["experiment", "suggestion", "trial"].map((it) => `${components}/crd/${it}.yaml`);
  const webhooks = `${components}/webhook/webhooks.yaml`;
  const files = {
    controller: `${folder}/katib-controller`,
    dbManager: `${folder}/db-manager`,
    manifests: { crds, webhooks },
  };
  for (const file of [files.controller, files.dbManager, webhooks, ...crds]) {
    await Deno.writeTextFile(file, "");
  }
  return {
    folder,
    files,
    options: [
      `--controller=${files.controller}`,
      `--db-manager=${files.dbManager}`,
      `--manifests=${folder}/manifests`,
    ],
    [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }),
  };
}

Deno.test("readOptions() takes the paths of Katib's programs and manifests", async () => {
  await using katib = await katibFiles();
  const { parts, trials } = await readOptions([...katib.options, "--trials=5"]);
  assert.deepEqual(parts, katib.files);
  assert.equal(trials, 5);
});

Deno.test("readOptions() says which of Katib's files is missing, and how to build it", async (t) => {
  await using katib = await katibFiles();
  const [controller = "", dbManager = "", manifests = ""] = katib.options;
  const cases: Record<string, { options: string[]; says: RegExp }> = {
    "no option": { options: [], says: /^--controller FILE is missing.*go build/ },
    "no DB manager": {
      options: [controller, manifests],
      says: /^--db-manager FILE is missing, .*go build -o FILE \.\/cmd\/db-manager\/v1beta1/,
    },
    "a program that is not there": {
      options: [`--controller=${katib.folder}/none`, dbManager, manifests],
      says: /^--controller: there is no file .*none; build it with go build/,
    },
    "no manifests": {
      options: [controller, dbManager],
      says: /^--manifests FOLDER is missing; name the folder manifests\/v1beta1/,
    },
    "a folder without manifests": {
      options: [controller, dbManager, `--manifests=${katib.folder}`],
      says: /^--manifests: there is no file .*experiment\.yaml/,
    },
    "a checkout to build": {
      options: [`--source=${katib.folder}`],
      says: /^Unknown option '--source'/,
    },
  };
  for (const [what, { options, says }] of Object.entries(cases)) {
    await t.step(what, () => assert.rejects(readOptions(options), { message: says }));
  }
});
