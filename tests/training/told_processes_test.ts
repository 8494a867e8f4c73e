/** Test of the lines of docs/guides/push.md by which all processes of a training learn of its stop. */
import assert from "node:assert/strict";
import { ANNOTATIONS } from "../../crds/names.ts";
import { KINDS } from "../../crds/kinds.ts";
import { blocksOf, ROOT } from "../docs/markdown.ts";
import { podLog } from "../support/pod_log.ts";
import { shareStandalone, shellRuntime, trainJob } from "../support/standalone.ts";
import { until } from "../support/until.ts";
import { debianTorch } from "./debian_torch.ts";
import { testWith } from "./seen_training.ts";

/** The lines, as deep as they stand in a loop. */
async function linesOfPage(): Promise<string> {
  const page = await Deno.readTextFile(new URL("docs/guides/push.md", ROOT));
  const found = blocksOf(page).filter(({ info, text }) =>
    info === "python" && text.includes("broadcast")
  );
  assert.equal(found.length, 1, "docs/guides/push.md shows once how others learn of a stop");
  return (found[0]?.text ?? "").trimEnd().replaceAll(/^/gm, "        ");
}

const standalone = shareStandalone();

testWith(
  await debianTorch(),
  "all processes of torchrun leave the loop at the same step when their job is told to stop",
  async (bin) => {
    const { client } = standalone();
    const folder = await Deno.makeTempDir({ prefix: "milepost-test-" });
    try {
      const program = `${folder}/train.py`;
      await Deno.writeTextFile(
        program,
        `import itertools, torch.distributed, milepost
torch.distributed.init_process_group("gloo")
with milepost.Run() as run:
    for step in itertools.count():
        run.push(step=step, loss=1.0)
${await linesOfPage()}
print(f"rank {torch.distributed.get_rank()} left at {step}: {told[0]}", flush=True)
`,
      );
      const sources = new URL("clients/python/src", ROOT).pathname;
      const command = `PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=${sources} ` +
        `${bin}/torchrun --standalone --nproc_per_node=2 ${program}`;
      await client.create(KINDS.clusterTrainingRuntime, shellRuntime("told", command));
      const annotations = {
        [ANNOTATIONS.stopWhen]: "loss < 2 after step 100",
        [ANNOTATIONS.earlyStoppingGrace]: "120s",
      };
      await client.create(KINDS.trainJob, trainJob("told", "told", { annotations }));
      const log = await until("both processes have left", async () => {
        const { items } = await client.list(KINDS.pod, { namespace: "default" });
        const pod = items.find(({ metadata }) => metadata?.name?.startsWith("told-"));
        const text = pod && await podLog(client, pod.metadata?.name ?? "");
        const isOver = pod?.status?.phase === "Failed" || text?.match(/^rank /gm)?.length === 2;
        return isOver ? text ?? "it printed nothing" : undefined;
      }, { timeoutMs: 240_000 });
      const [, step, told] = /left at (\d+): (EarlyStopped: .*)/.exec(log) ?? [];
      assert.deepEqual(log.split("\n").filter((it) => it.startsWith("rank ")).sort(), [
        `rank 0 left at ${step}: ${told}`,
        `rank 1 left at ${step}: ${told}`,
      ], log);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
);
