/** Test of trainers of several processes: all end with their trial, after their own clean-up. */
import assert from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { observer } from "../../support/observer.ts";
import { processesThatMention } from "../../support/processes.ts";
import { shellRuntime, trainJobThat, withStandalone } from "../../support/standalone.ts";
import {
  accepted,
  createTrial,
  createTrialsJob,
  installTrials,
  lossAbove,
  pushingPods,
  trialThat,
  withInitializer,
} from "../../support/trials.ts";
import { until } from "../../support/until.ts";

/** A launcher with two workers, as torchrun has them; on SIGTERM it saves, and ends when it may. */
function launcher(folder: string): string {
  const mayEnd = `while [ ! -e ${folder}/end ]; do sleep 0.05; done`;
  return `trap 'echo saved > ${folder}/checkpoint; ${mayEnd}; kill $a $b; exit 0' TERM; ` +
    `sleep 1001 & a=$!; sleep 1002 & b=$!; echo $a > ${folder}/a; echo $b > ${folder}/b; wait`;
}

async function readText(file: string): Promise<string | undefined> {
  try {
    return await Deno.readTextFile(file);
  } catch {
    return undefined; // It is not written yet.
  }
}

async function readPid(file: string): Promise<number | undefined> {
  const pid = Number((await readText(file))?.trim());
  return pid > 0 ? pid : undefined;
}

Deno.test("a trainer of many processes ends cleanly when its trial is stopped, beside an initializer", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await withStandalone(async (standalone) => {
      const { client } = standalone;
      await installTrials(client);
      const runtime = withInitializer(shellRuntime("launcher", launcher(folder)));
      await client.create(KINDS.clusterTrainingRuntime, runtime);
      const trial = await createTrial(client, "many", "launcher", {
        spec: { earlyStoppingRules: [lossAbove("0.5")] },
      });
      await createTrialsJob(client, trial);
      const pids = await until("the workers run", async () => {
        const found = [await readPid(`${folder}/a`), await readPid(`${folder}/b`)];
        const all = found.filter((it) => it !== undefined);
        return all.length === 2 ? all : undefined;
      }, { timeoutMs: 60_000 });
      const running = await processesThatMention("sleep 100");
      assert.deepEqual(pids.filter((pid) => !running.has(pid)), []);
      const trainer = (await pushingPods(standalone, "many", 2)).find((it) =>
        it.labels["jobset.sigs.k8s.io/replicatedjob-name"] === "node"
      );
      assert.ok(trainer);
      assert.equal((await accepted(trainer.push({ loss: "0.6" }))).control?.stop, true);
      await trialThat(
        client,
        "many",
        "is stopped early",
        (it) => it.status?.conditions?.at(-1)?.type === "EarlyStopped",
      );
      await until("it saves", async () => (await readText(`${folder}/checkpoint`)) === "saved\n");
      const { control } = await accepted(trainer.push({ loss: "0.55" }));
      assert.equal(control?.stop, true, "last words are told the same, and written nowhere");
      await Deno.writeTextFile(`${folder}/end`, "");
      await until("all processes are gone", async () => {
        const left = await processesThatMention("sleep 100");
        return pids.every((pid) => !left.has(pid)) || undefined;
      }, { timeoutMs: 60_000 });
      await trainJobThat(client, "many", "is stopped", (it) => it.status?.state === "EarlyStopped");
      const { body } = await (await observer(client)).read(standalone, "many");
      assert.deepEqual(Object(body).log.map(({ value }: { value: string }) => value), ["0.6"]);
      const { status } = await client.get(KINDS.trial, { namespace: "default", name: "many" });
      assert.deepEqual(status?.observation?.metrics, [
        { name: "loss", min: "0.6", max: "0.6", latest: "0.6" },
      ]);
      const { status: shown } = await client.get(KINDS.trainJob, {
        namespace: "default",
        name: "many",
      });
      assert.deepEqual(shown?.trainerStatus?.metrics, [{ name: "loss", value: "0.6" }]);
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
