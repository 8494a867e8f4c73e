/** Tests of the Python client as a package: its own tests, its types, and its wheel. */
import assert from "node:assert/strict";
import { run } from "../support/command.ts";
import { pythonEnvironment } from "../support/python_environment.ts";
import { testWith } from "../training/seen_training.ts";
import house from "../../deno.json" with { type: "json" };
import { CLIENT, SOURCES, testWithPython } from "./interpreter.ts";

const env = { PYTHONPATH: SOURCES, PYTHONDONTWRITEBYTECODE: "1" };

testWithPython("the client's own tests pass, and none is skipped", async (bin) => {
  const { code, stderr } = await run(`${bin}/python3`, {
    args: ["-W", "error::ResourceWarning", "-m", "unittest", "discover", "-t", ".", "-s", "tests"],
    cwd: CLIENT,
    env,
    timeoutMs: 120_000,
  });
  assert.equal(code, 0, stderr);
  assert.match(stderr, /^Ran [1-9]\d+ tests in .*\n\nOK\n$/m);
});

const tools = await pythonEnvironment("hatchling==1.33.0", "mypy==2.4.1");

testWith(tools, "the client's types are whole", async (bin) => {
  const { code, stdout } = await run(`${bin}/mypy`, {
    args: ["--cache-dir", "/dev/null"],
    cwd: CLIENT,
    timeoutMs: 120_000,
  });
  assert.equal(code, 0, stdout);
});

testWith(tools, "the wheel needs nothing, and pushes where it is installed", async (bin) => {
  const folder = await Deno.makeTempDir({ prefix: "milepost-test-" });
  try {
    const built = await run(`${bin}/hatchling`, {
      args: ["build", "-t", "wheel", "-d", folder],
      cwd: CLIENT,
      env: { PYTHONDONTWRITEBYTECODE: "1" },
      timeoutMs: 60_000,
    });
    assert.equal(built.code, 0, built.stderr);
    const names = Array.from(Deno.readDirSync(folder), ({ name }) => name);
    assert.deepEqual(names, [`milepost-${house.version}-py3-none-any.whl`]);
    const installed = await run(`${bin}/python`, {
      args: ["-m", "pip", "install", "--quiet", "--no-index", "--find-links", folder]
        .concat("--target", `${folder}/site`, "milepost"),
      timeoutMs: 60_000,
    });
    assert.equal(installed.code, 0, installed.stderr);
    const program = "import milepost\nwith milepost.Run(2, echo=True) as run: run.push(step=2)";
    const { stdout } = await run(`${bin}/python`, {
      args: ["-B", "-c", program],
      cwd: folder,
      env: { PYTHONPATH: `${folder}/site` },
    });
    assert.equal(stdout, "step 2  100 %\n");
    await Deno.stat(`${folder}/site/milepost/py.typed`);
    const info = `${folder}/site/milepost-${house.version}.dist-info`;
    assert.match(await Deno.readTextFile(`${info}/licenses/LICENSE`), /Apache License/);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
