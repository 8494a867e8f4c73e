/** Test of what happens where packages cannot be had: each test is skipped, and its name says why. */
import assert from "node:assert/strict";
import { run } from "../support/command.ts";

/** Files of tests that need packages. */
const FILES = ["jax", "xgboost", "torch", "mpi", "sdk", "callbacks"].map((name) =>
  `tests/training/${name}_test.ts`
);
const REASON = /\(skipped: (pip|apt-get) failed: (ERROR|E): [^\n]+\) \.\.\. ignored/;

/** Variables with which nothing is cached, no index answers, and Debian has no packages. */
async function withoutPackages(folder: string): Promise<Record<string, string>> {
  const home = Deno.env.get("HOME") ?? "/tmp";
  const cache = Deno.env.get("XDG_CACHE_HOME") ?? `${home}/.cache`;
  const nowhere = `${folder}/nowhere`;
  await Deno.mkdir(`${nowhere}/partial`, { recursive: true });
  await Deno.writeTextFile(
    `${folder}/apt.conf`,
    ["Etc::SourceList", "Etc::SourceParts", "State::Lists"]
      .map((name) => `Dir::${name} "${nowhere}";\n`).join(""),
  );
  return {
    APT_CONFIG: `${folder}/apt.conf`,
    DENO_DIR: Deno.env.get("DENO_DIR") ?? `${cache}/deno`,
    PIP_CONFIG_FILE: "/dev/null",
    // Nothing listens at the port for discarded data.
    PIP_INDEX_URL: "http://127.0.0.1:9/simple",
    PIP_RETRIES: "0",
    XDG_CACHE_HOME: folder,
  };
}

Deno.test("tests whose packages cannot be had are skipped by name, with the reason", async () => {
  const folder = await Deno.makeTempDir({ prefix: "milepost-test-" });
  try {
    const { code, stdout, stderr } = await run(Deno.execPath(), {
      args: ["test", "-A", "--no-check", ...FILES],
      cwd: new URL("../../", import.meta.url).pathname,
      env: await withoutPackages(folder),
      timeoutMs: 300_000,
    });
    assert.equal(code, 0, `${stdout}${stderr}`);
    const lines = stdout.split("\n").filter((line) => / \.\.\. /.test(line));
    assert.ok(lines.length >= FILES.length, stdout);
    for (const line of lines) assert.match(line, REASON);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
