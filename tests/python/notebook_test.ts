/** Test of reading jobs in a notebook, which is executed against a `standalone` where a job trains. */
import assert from "node:assert/strict";
import { z } from "zod";
import { KINDS } from "../../crds/kinds.ts";
import { run } from "../support/command.ts";
import { shellRuntime, trainJob, withStandalone } from "../support/standalone.ts";
import { testWith } from "../training/seen_training.ts";
import { CLIENT, SOURCES } from "./interpreter.ts";
import { executedNotebook, notebookEnvironment, notebookOf } from "./notebook.ts";

const PROGRAM = `
import milepost, time
with milepost.Run(total=40) as run:
    for step in range(40):
        run.push({"<b>hostile": step}, step=step, loss=1 / (step + 1))
        time.sleep(0.15)`;

const environment = await notebookEnvironment();

/** The cache of modules, which a home of the test's own does not have. */
async function denoFolder(): Promise<string> {
  const { stdout } = await run(Deno.execPath(), { args: ["info", "--json"] });
  return z.object({ denoDir: z.string() }).parse(JSON.parse(stdout)).denoDir;
}

testWith(
  environment,
  "a notebook shows a job while it trains, and its metrics",
  (bin) =>
    withStandalone(async ({ client, kubeconfig, folder }) => {
      const command =
        `PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=${SOURCES} python3 - <<'END'${PROGRAM}\nEND`;
      await client.create(KINDS.clusterTrainingRuntime, shellRuntime("notebook", command));
      for (const name of ["notebook", "other"]) {
        await client.create(KINDS.trainJob, trainJob(name, "notebook"));
      }
      const path = `${CLIENT}examples/watch.ipynb`;
      const cells = await executedNotebook(path, {
        ...{ bin, home: folder },
        env: { KUBECONFIG: kubeconfig },
      });
      const [picture = [], state = [], loss = [], plot = [], compared = [], described = []] = cells;
      const [last = [], listed = []] = cells.slice(6);
      // It was updated in place: one output, which shows the end.
      assert.equal(picture.length, 1);
      const html = z.string().parse(picture[0]?.["text/html"]);
      assert.match(html, /<b>default\/notebook<\/b> Complete/);
      assert.match(html, /<progress max="100" value="100">/);
      assert.match(html, /<svg [^>]*><polyline points="[\d., ]+"/);
      assert.doesNotMatch(html, /<b>hostile/);
      assert.equal(state[0]?.["text/plain"], "('Complete', 100)");
      assert.match(String(loss[0]?.["text/plain"]), /0\.025\d*\n.*Name: loss, dtype: float64$/s);
      for (const drawn of [plot, compared]) {
        const png = drawn.map((output) => output["image/png"]).find((it) => it !== undefined);
        assert.match(z.string().parse(png), /^iVBORw0KGgo/);
      }
      assert.match(String(described[0]?.["text/plain"]), /default\/notebook.*\ndefault\/other/s);
      assert.match(String(last[0]?.["text/plain"]), /step +loss\n.*\n.* 39\.0 +0\.025/);
      const row = (name: string) =>
        `('${name}', 'trainjobs.trainer.kubeflow.org', 'Complete', ['<b>hostile', 'loss'])`;
      const shown = String(listed[0]?.["text/plain"]).replace(/\s+/g, " ");
      assert.equal(shown, `[${row("notebook")}, ${row("other")}]`);
    }),
);

testWith(
  environment,
  "curves come from outside of the cluster, through the API server",
  async (bin) => {
    const { code, stderr } = await run(`${bin}/python`, {
      args: ["-W", "error::ResourceWarning", "-m", "unittest", "tests.forward_scenes"],
      cwd: CLIENT,
      env: { PYTHONPATH: SOURCES, PYTHONDONTWRITEBYTECODE: "1" },
      timeoutMs: 120_000,
    });
    assert.equal(code, 0, stderr);
    assert.match(stderr, /^Ran [1-9]\d* tests in .*\n\nOK\n$/m);
  },
);

testWith(environment, "frames have no gaps, and errors are one line in a notebook", async (bin) => {
  const folder = await Deno.makeTempDir({ prefix: "milepost-test-" });
  try {
    const { code, stderr } = await run(`${bin}/python`, {
      args: ["-m", "unittest", "tests.notebook_scenes"],
      cwd: CLIENT,
      env: {
        PYTHONPATH: SOURCES,
        PYTHONDONTWRITEBYTECODE: "1",
        MPLBACKEND: "agg",
        IPYTHONDIR: folder,
      },
      timeoutMs: 120_000,
    });
    assert.equal(code, 0, stderr);
    assert.match(stderr, /^Ran [1-9]\d* tests in .*\n\nOK\n$/m);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

testWith(
  environment,
  "a notebook has a control plane of its own, and errors are one line",
  async (bin) => {
    const folder = await Deno.makeTempDir({ prefix: "milepost-test-" });
    try {
      // In place of the package: the command of the clone.
      const command = new URL("../../bin/milepost", import.meta.url).pathname;
      await Deno.mkdir(`${folder}/milepost_server`);
      await Deno.writeTextFile(
        `${folder}/milepost_server/__init__.py`,
        `def command():\n    return [${JSON.stringify(command)}]\n`,
      );
      const path = `${folder}/own.ipynb`;
      const manifest =
        '{"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "softmax"}, ' +
        '"spec": {"runtimeRef": {"name": "plain"}, "trainer": {"command": ["true"]}}}';
      const place = '"trainer.kubeflow.org", "v1alpha1", "default", "trainjobs"';
      await Deno.writeTextFile(
        path,
        notebookOf(
          "import milepost, os\nhere = milepost.local()\nhere",
          `from kubernetes import client, config\nconfig.load_kube_config()\n` +
            `_ = client.CustomObjectsApi().create_namespaced_custom_object(${place}, ${manifest})`,
          'milepost.job("softmx")',
          'milepost.job("softmax").show()',
          'here.stop()\n(here, "KUBECONFIG" in os.environ)',
        ),
      );
      const env = { PYTHONPATH: `${SOURCES}:${folder}`, DENO_DIR: await denoFolder() };
      const cells = await executedNotebook(path, { bin, home: folder, env });
      const [own = [], , missing = [], job = [], ended = []] = cells;
      assert.match(String(own[0]?.["text/html"]), /https:\/\/127\.0\.0\.1:\d+ <a href="http:/);
      assert.equal(
        missing[0]?.["text/plain"],
        "JobNotFound: no TrainJob softmx in default; did you mean softmax?",
      );
      assert.match(String(job[0]?.["text/html"]), /<b>default\/softmax<\/b> Complete/);
      assert.equal(ended[0]?.["text/plain"], "(<milepost.local: ended>, False)");
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
);

testWith(environment, "numbers of NumPy are pushed, and are steps", async (bin) => {
  const program = `
import numpy, milepost
from tests.fakes import FakeEndpoint
endpoint = FakeEndpoint()
with milepost.Run(endpoint=endpoint, environ={}) as run:
    run.push(step=numpy.int64(3), a=numpy.float32(0.5), b=numpy.int16(2), c=numpy.array(1.5))
    run.push(step=numpy.float32(4), d=numpy.float64(0.25), wrong=numpy.array([1, 2]))
for sample in endpoint.taken:
    print(sample["step"], *(f"{one['name']}={one['value']}" for one in sample["metrics"]))`;
  const { stdout, stderr } = await run(`${bin}/python`, {
    args: ["-c", program],
    env: { PYTHONPATH: `${SOURCES}:${CLIENT}`, PYTHONDONTWRITEBYTECODE: "1" },
  });
  assert.equal(stdout, "3 a=0.5 b=2.0 c=1.5\n4 d=0.25\n", stderr);
  assert.match(stderr, /wrong is no number/);
});
