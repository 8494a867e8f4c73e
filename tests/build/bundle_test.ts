/** Tests of the bundle alone: in an empty folder, without configuration, cache or downloads. */
import assert from "node:assert/strict";
import { z } from "zod";
import { bundle } from "../../build/bundle.ts";
import { crdYaml } from "../../crds/manifests.ts";
import manifest from "../../deno.json" with { type: "json" };
import { run } from "../support/command.ts";
import { processesThatMention } from "../support/processes.ts";

interface Bundle extends AsyncDisposable {
  /** Starts a long-running command. */
  start(args: string[]): Deno.ChildProcess;
  milepost(args: string[], timeoutMs?: number): ReturnType<typeof run>;
  /** Folder of temporary files of its commands. */
  readonly temporary: string;
}

/** The bundle, alone in a folder of its own; its home, its cache and the folder of its PATH are empty. */
async function bundleAlone(): Promise<Bundle> {
  const folder = await Deno.makeTempDir({ prefix: "milepost-bundle-" });
  const [home, work, temporary] = [`${folder}/home`, `${folder}/work`, `${folder}/temporary`];
  const empty = `${folder}/empty`;
  await Promise.all([home, work, temporary, empty].map((it) => Deno.mkdir(it)));
  await bundle(`${folder}/milepost.js`);
  const command = (args: string[]) => ({
    args: ["run", "-A", "--cached-only", "--no-config", "--no-lock", "../milepost.js", ...args],
    cwd: work,
    env: { HOME: home, DENO_DIR: `${home}/deno`, TMPDIR: temporary, PATH: empty },
  });
  return {
    temporary,
    milepost: (args, timeoutMs = 60_000) => run(Deno.execPath(), { ...command(args), timeoutMs }),
    start: (args) =>
      new Deno.Command(Deno.execPath(), { ...command(args), stdout: "piped", stderr: "null" })
        .spawn(),
    [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }),
  };
}

const summarySchema = z.object({
  summary: z.array(z.object({
    job: z.string(),
    state: z.string(),
    seconds: z.number(),
    metrics: z.record(z.string(), z.string()),
    message: z.string(),
  })),
});

Deno.test("bundle() makes one file that runs alone", async (t) => {
  await using alone = await bundleAlone();

  await t.step("`version` tells the version", async () => {
    const { code, stdout, stderr } = await alone.milepost(["version"]);
    assert.equal(code, 0, stderr);
    assert.match(stdout, new RegExp(`^milepost ${manifest.version}\n`));
  });
  await t.step("`crds` prints what the source prints", async () => {
    const { code, stdout, stderr } = await alone.milepost(["crds"]);
    assert.equal(code, 0, stderr);
    assert.equal(stdout, crdYaml());
  });
  await t.step("wrong usage prints one line and exits with 2", async () => {
    const { code, stderr } = await alone.milepost(["manager", "--webhook-port", "many"]);
    assert.equal(code, 2);
    assert.match(stderr, /^milepost: [^\n]*--webhook-port[^\n]*\n$/);
  });
  await t.step("`example failing` is a program of the bundle", async () => {
    const { code, stderr } = await alone.milepost(["example", "failing"]);
    assert.deepEqual([code, stderr], [3, "the data set is not there\n"]);
  });
  await t.step("`standalone` becomes ready, and stops", async () => {
    const child = alone.start(["standalone", "--json", "--data-dir", "data"]);
    const timer = setTimeout(() => child.kill("SIGKILL"), 60_000);
    let text = "";
    for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) {
      text += part;
      if (text.endsWith("\n")) child.kill("SIGTERM");
    }
    assert.partialDeepStrictEqual(JSON.parse(text), { ready: true });
    assert.equal((await child.status).code, 0);
    clearTimeout(timer);
  });
  await t.step("`demo` trains, shows progress, and leaves no process and no file", async () => {
    const { code, stdout, stderr } = await alone.milepost(["demo", "--json"], 180_000);
    assert.equal(code, 0, stderr);
    const lines = stdout.trimEnd().split("\n").map((line): unknown => JSON.parse(line));
    const { summary } = summarySchema.parse(lines.at(-1));
    assert.deepEqual(summary.map((it) => [it.job, it.state]), [
      ["softmax", "Complete"],
      ["failing", "Failed"],
      ["paused", "Complete"],
    ]);
    const [softmax, failing] = summary;
    assert.match(failing?.message ?? "", /^node-0 exited 3: the data set is not there$/);
    assert.ok(Number(softmax?.metrics.accuracy) > 0.9, JSON.stringify(softmax));
    const softmaxLines = lines.filter((it) => JSON.stringify(it).includes('"job":"softmax"'));
    assert.ok(softmaxLines.length >= 4, "progress was not shown as it came");
    const ends = lines.slice(0, -1)
      .filter((it) => JSON.stringify(it).includes('"state":"Complete"'));
    assert.ok(ends.length >= 2, stdout);
    for (const end of ends) assert.partialDeepStrictEqual(end, { progressPercentage: 100 });
    const left = [...Deno.readDirSync(alone.temporary)].map((it) => it.name);
    assert.deepEqual(left, []);
    assert.deepEqual(await processesThatMention(alone.temporary), new Map());
  });
});
