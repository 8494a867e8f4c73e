/** Tests of Milepost as a part of kubectl, installed as docs/guides/terminal.md says. */
import assert from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { blocksOf, ROOT } from "../../docs/markdown.ts";
import { isInstalled, run } from "../../support/command.ts";
import { milepostCommand } from "../../support/milepost_process.ts";
import { shareStandalone, shellRuntime, trainJob } from "../../support/standalone.ts";

const standalone = shareStandalone(async (client) => {
  await client.create(KINDS.clusterTrainingRuntime, shellRuntime("idle", "exec sleep 600"));
  await client.create(KINDS.trainJob, trainJob("softmax", "idle"));
});

const guide = await Deno.readTextFile(new URL("docs/guides/terminal.md", ROOT));
const blocks = blocksOf(guide).filter(({ info }) => info.endsWith("kubectl_plugin_test.ts"));

Deno.test({
  name: "kubectl milepost is Milepost, and kubectl completes it",
  ignore: !await isInstalled("kubectl"),
  async fn() {
    const home = await Deno.makeTempDir();
    try {
      const bin = `${home}/.local/bin`;
      await Deno.mkdir(bin, { recursive: true });
      // Packages stay in the folder of who runs the tests.
      const own = `#!/bin/sh\nHOME='${
        Deno.env.get("HOME") ?? ""
      }' exec ${milepostCommand()} "$@"\n`;
      await Deno.writeTextFile(`${bin}/milepost`, own, { mode: 0o755 });
      const env = {
        HOME: home,
        PATH: `${bin}:${Deno.env.get("PATH") ?? ""}`,
        KUBECONFIG: standalone().kubeconfig,
      };
      const installed = await run("bash", {
        args: ["-ec", blocks.map(({ text }) => text).join("\n")],
        env,
      });
      assert.equal(installed.code, 0, installed.stderr);
      assert.match(installed.stdout, /^TrainJob default\/softmax /);
      const completed = async (...words: string[]) => {
        const { stdout } = await run("kubectl", {
          args: ["__complete", "milepost", ...words],
          env,
        });
        return stdout.split("\n").filter((it) => /^[a-z-]/.test(it));
      };
      assert.deepEqual(await completed("to"), ["top"]);
      assert.deepEqual(await completed("logs", "--fo"), ["--follow"]);
      assert.deepEqual(await completed("completion", "z"), ["zsh"]);
      assert.deepEqual(await completed("logs", "so"), ["softmax"]);
    } finally {
      await Deno.remove(home, { recursive: true });
    }
  },
});
