/** Test of the journey from an empty folder: the package of npm from its file, its demo at a terminal, and a job on the page. */
import assert from "node:assert/strict";
import { bundle } from "../../build/bundle.ts";
import { packNpm } from "../../build/release/npm_package.ts";
import { partsOfProgram } from "../../build/release/parts_list.ts";
import { programFiles } from "../../build/release/program_files.ts";
import { browser } from "../browser/chromium.ts";
import { registries } from "../build/release/installed_packages.ts";
import { atTerminal } from "../support/terminal.ts";
import { walk } from "./walk.ts";

const IN_BROWSER = { first_look: 2 };

/** Makes the package of npm in a folder. Returns its path. */
async function madePackage(folder: string): Promise<string> {
  const source = `${folder}/milepost.js`;
  await bundle(source);
  const given = { bundle: source, repository: undefined, work: `${folder}/work` };
  const files = await programFiles(given, await partsOfProgram());
  await packNpm(folder, files);
  return `${folder}/milepost-npm-${files.version}.tgz`;
}

const found = await browser();
const source = await registries();
const without = [found, source].flatMap((it) => "missing" in it ? [it.missing] : []);
const why = without.length === 0 ? "" : ` (${without.join("; ")})`;

Deno.test({
  name: `a person comes from an empty folder to a job's curves, by one command${why}`,
  ignore: without.length > 0,
  async fn(test) {
    if ("missing" in found) return;
    const folder = await Deno.makeTempDir({ prefix: "milepost-test-" });
    try {
      const [here, home, temporary] = [`${folder}/here`, `${folder}/home`, `${folder}/tmp`];
      for (const path of [here, home, temporary]) await Deno.mkdir(path);
      const npx = `npx --yes --package=${await madePackage(folder)} -- milepost demo`;
      const env = { HOME: home, TMPDIR: temporary, npm_config_cache: `${home}/npm` };
      await using screen = atTerminal(`env -C ${here} ${npx}`, env);
      await screen.shows(/#code=\S+\s/);
      const [address] = /http:\/\/\S+#code=[\w-]+/.exec(screen.text()) ?? [];
      await walk(test, { found, address, job: "softmax" }, IN_BROWSER);
      await screen.type("\x03");
      // The shell of npx tells Ctrl-C so, after the demo has ended by itself.
      assert.equal(await screen.ended(), 130, screen.text());
      for (const path of [here, temporary]) assert.deepEqual([...Deno.readDirSync(path)], []);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
