/** Test of the program of docs/guides/stalls.md: the pod that is frozen is named, and it makes progress again. */
import assert from "node:assert/strict";
import { KINDS } from "../../crds/kinds.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import { run } from "../support/command.ts";
import { shellRuntime, trainJob, trainJobThat, withStandalone } from "../support/standalone.ts";
import { until } from "../support/until.ts";
import { blocksOf, ROOT } from "../docs/markdown.ts";
import { SOURCES, testWithPython } from "./interpreter.ts";

const guide = blocksOf(await Deno.readTextFile(new URL("docs/guides/stalls.md", ROOT)));

/** What the program of the page calls: two nodes that wait for each other in each step, by pipes. */
const AROUND = `
import os, time
rank = int(os.environ["JOB_COMPLETION_INDEX"])
open(f"{FOLDER}/process-{rank}", "w").write(str(os.getpid()))
to, of = (f"{FOLDER}/pipe-{rank}", f"{FOLDER}/pipe-{1 - rank}")

def load():
    files = [open(path, mode, buffering=0) for path, mode in sorted(((to, "wb"), (of, "rb")))]
    return dict(zip(sorted((to, of)), files))

def train(model, step):
    time.sleep(0.1)
    model[to].write(b".")
    model[of].read(1)
    return 1 / (step + 1)

def evaluate(model):
    return 1.0
`;

testWithPython(
  "a pod that is frozen is named, and what was told goes with its next step",
  () =>
    withStandalone(async ({ client, kubeconfig, folder }) => {
      for (const rank of [0, 1]) {
        const made = await run("mkfifo", { args: [`${folder}/pipe-${rank}`] });
        assert.equal(made.code, 0, made.stderr);
      }
      const program = guide.find(({ info }) => info === "python")?.text;
      assert.ok(program !== undefined, "docs/guides/stalls.md has no lines of Python");
      const whole = `FOLDER = ${JSON.stringify(folder)}\n${AROUND}${program}`;
      const command =
        `PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=${SOURCES} exec python3 - <<'END'\n${whole}\nEND`;
      await client.create(KINDS.clusterTrainingRuntime, shellRuntime("bert", command));
      const spec = { trainer: { numNodes: 2 } };
      await client.create(KINDS.trainJob, trainJob("bert", "bert", { spec }));
      // Fifteen seconds of steps, and an evaluation: both pods have said where they are.
      const hasSteps = ({ status }: TrainJob) =>
        (status?.trainerStatus?.progressPercentage ?? 0) >= 15 &&
        status?.trainerStatus?.metrics?.some(({ name }) => name === "val/loss") === true;
      await trainJobThat(client, "bert", "has made 150 steps", hasSteps);
      const process = Number(await Deno.readTextFile(`${folder}/process-1`));
      Deno.kill(process, "SIGSTOP");
      try {
        const { status } = await trainJobThat(
          client,
          "bert",
          "names the pod that is frozen",
          (job) => job.status?.stalled?.pods !== undefined,
        );
        const [pod, ...others] = status?.stalled?.pods ?? [];
        assert.match(pod?.name ?? "", /^bert-node-0-1-/);
        assert.match(pod?.place ?? "", /^<stdin>:\d+$/);
        assert.deepEqual([pod?.node, pod?.state], ["milepost", "Running"]);
        const timed = await trainJobThat(
          client,
          "bert",
          "says what its time went to",
          (job) => job.status?.timeSpent !== undefined,
        );
        const { productiveSeconds, stalledSeconds, step = 0 } = timed.status?.timeSpent ?? {};
        assert.ok((productiveSeconds ?? 0) >= 10 && (stalledSeconds ?? 0) >= 10 && step >= 150);
        assert.deepEqual(others, []);
        const shown = guide.find(({ info }) => info === "sh test: tests/python/stalled_test.ts");
        const { stdout } = await run("bash", {
          args: ["-c", shown?.text ?? ""],
          env: { KUBECONFIG: kubeconfig },
        });
        assert.match(
          stdout,
          /^no step after \d+ since .*Z; usually less than 1s; bert-node-0-1-\w+ not heard of since .*Z$/,
        );
      } finally {
        Deno.kill(process, "SIGCONT");
      }
      await until("progress is made again", async () => {
        const { status } = await client.get(KINDS.trainJob, { namespace: "default", name: "bert" });
        return status?.stalled === undefined && status?.trainerStatus !== undefined;
      });
    }),
);
