/** Tests of the journeys of a person through Milepost: each comes to its end, by so many actions and no more. */
import assert from "node:assert/strict";
import { browser } from "../browser/chromium.ts";
import { executedNotebook, notebookEnvironment, notebookOf } from "../python/notebook.ts";
import { milepost } from "../support/milepost_process.ts";
import { type Scene, withScene } from "./scene.ts";
import { walk } from "./walk.ts";

/** Actions in a browser: an address that is opened, a click, a field that is filled, a key. */
const IN_BROWSER = {
  first_look: 2,
  why_failed: 2,
  why_waits: 2,
  which_is_best: 3,
  configuration: 3,
  restart: 4,
  stop: 4,
  last_words: 3,
  phone: 2,
};
const AFTER_RESTART = { after_restart: 2 };

/** One command each, and what it says. */
const AT_TERMINAL: Readonly<Record<string, readonly [args: string[], says: RegExp]>> = {
  "first look": [["get"], /crashes +Failed[^\n]*No module named 'tochr'/],
  "why it failed": [["get", "crashes"], /node-0 exited 1: ModuleNotFoundError: No module named/],
  "why it waits": [["get", "wants-gpu"], /waits for 64 nvidia\.com\/gpu; this machine has \d/],
  "stop it": [["stop", "to-be-stopped"], /to-be-stopped/],
  "its last words": [["logs", "crashes"], /about to import what is not there/],
};

/** Two cells: what is looked at, and the look. */
const CELLS = ["import milepost", 'milepost.job("crashes").show()'];

const found = await browser();
const notebooks = await notebookEnvironment();

async function ask(test: Deno.TestContext, { kubeconfig }: Scene): Promise<void> {
  for (const [name, [args, says]] of Object.entries(AT_TERMINAL)) {
    await test.step(`at a terminal, ${name}: 1 command`, async () => {
      const { code, stdout, stderr } = await milepost(args, { env: { KUBECONFIG: kubeconfig } });
      assert.equal(code, 0, stderr);
      assert.match(stdout, says);
    });
  }
}

async function read(test: Deno.TestContext, { kubeconfig, folder }: Scene): Promise<void> {
  if ("missing" in notebooks) return;
  const path = `${folder}/look.ipynb`;
  await Deno.writeTextFile(path, notebookOf(...CELLS));
  await test.step(`in a notebook, why it failed: ${CELLS.length} cells`, async () => {
    const shown = await executedNotebook(path, {
      bin: notebooks.bin,
      home: folder,
      env: { KUBECONFIG: kubeconfig },
    });
    assert.match(JSON.stringify(shown), /ModuleNotFoundError: No module named/);
  });
}

const without = [found, notebooks].flatMap((it) => "missing" in it ? [it.missing] : []);
const why = without.length === 0 ? "" : ` (${without.join("; ")})`;

Deno.test({
  name: `a person comes to the end of each journey, by so many actions${why}`,
  ignore: without.length > 0,
  fn: (test) =>
    withScene(async (scene) => {
      if ("missing" in found) return;
      const begin = () => ({ found, address: scene.process.ready.ui, job: "trains" });
      await read(test, scene);
      await walk(test, begin(), IN_BROWSER);
      await ask(test, scene);
      const { origin } = new URL(scene.process.ready.ui ?? "");
      await scene.restart();
      assert.equal(new URL(scene.process.ready.ui ?? "").origin, origin, "a bookmark stays good");
      await walk(test, begin(), AFTER_RESTART);
    }),
});
