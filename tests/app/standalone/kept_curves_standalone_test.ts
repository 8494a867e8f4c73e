/** Test of what a restarted `standalone` shows of jobs that pushed before: the same. */
import assert from "node:assert/strict";
import { z } from "zod";
import { KINDS } from "../../../crds/kinds.ts";
import { createClient } from "../../../platform/kube/connection/connected_client.ts";
import { loadKubeconfig } from "../../../platform/kube/connection/kubeconfig.ts";
import {
  milepost,
  type StandaloneProcess,
  startStandaloneProcess,
} from "../../support/milepost_process.ts";
import { trainJob, trainJobThat } from "../../support/standalone.ts";

const shownSchema = z.looseObject({
  row: z.looseObject({ state: z.string() }),
  curves: z.looseObject({
    metrics: z.array(z.looseObject({
      name: z.string(),
      isStep: z.boolean().optional(),
      points: z.array(z.array(z.number())),
    })),
    marks: z.array(z.looseObject({ kind: z.string() })),
  }),
});

/**
 * What `milepost get` shows of a job, each point with its step: a curve that was read from a log has the steps itself, one
 * that was not those of the curve of steps.
 */
async function shown({ ready: { kubeconfig } }: StandaloneProcess, name: string) {
  const { code, stdout, stderr } = await milepost(["get", name, "--json"], {
    env: { KUBECONFIG: kubeconfig },
  });
  assert.equal(code, 0, stderr);
  const { row, curves: { metrics, marks } } = shownSchema.parse(JSON.parse(stdout));
  const steps = metrics.find((it) => it.isStep)?.points ?? [];
  const stepAt = new Map(steps.map(([timeMs, , , step]) => [timeMs, step]));
  const whole = metrics.map((it) => ({
    ...it,
    points: it.points.map((point) => [...point.slice(0, 4), point[4] ?? stepAt.get(point[0])]),
  }));
  return { state: row.state, metrics: whole, marks };
}

/** Metrics of a rule make the log the job's own; a plain job has one, too. */
const RULES = JSON.stringify({
  objective: { name: "loss", type: "minimize" },
  rules: [{ name: "loss", value: "1", comparison: "less" }],
});

Deno.test("a standalone that starts again shows the curves, the progress and the marks of jobs that ended", async () => {
  const folder = await Deno.makeTempDir({ prefix: "milepost-test-" });
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => Deno.remove(folder, { recursive: true }));
  const args = ["--data-dir", `${folder}/data`, "--ui=false"];
  const bounds = ["--history-bytes", "64Mi", "--history-age", "720h"];
  const first = await startStandaloneProcess([...args, ...bounds]);
  const client = createClient({ connection: loadKubeconfig(first.ready.kubeconfig) });
  cleanup.defer(() => client.close());
  const command = ["milepost", "example", "softmax"];
  const spec = { trainer: { command } };
  const annotations = { "trainer.kubeflow.org/early-stopping": RULES };
  await client.create(KINDS.trainJob, trainJob("plain", "torch-distributed", { spec }));
  await client.create(
    KINDS.trainJob,
    trainJob("stopped", "torch-distributed", { spec, annotations }),
  );
  const ends = { plain: "Complete", stopped: "EarlyStopped" };
  for (const [name, state] of Object.entries(ends)) {
    await trainJobThat(client, name, `is ${state}`, ({ status }) => status?.state === state);
  }
  const names = Object.keys(ends);
  const before = await Promise.all(names.map((name) => shown(first, name)));
  assert.deepEqual(before.map(({ marks }) => marks.map(({ kind }) => kind)), [[], ["stopped"]]);
  for (const { metrics } of before) {
    assert.deepEqual(metrics.map(({ name }) => name), ["loss", "accuracy", "progress", "step"]);
    assert.ok(metrics.every(({ points }) => points.length > 0));
    assert.ok(metrics.flatMap(({ points }) => points).every((it) => it[4] !== undefined));
  }
  await first.stop();
  // A killed one loses what came in its last second at most: these ended long before.
  for (const end of ["SIGKILL", "SIGTERM"] as const) {
    const again = await startStandaloneProcess(args);
    try {
      assert.deepEqual(await Promise.all(names.map((name) => shown(again, name))), before);
    } finally {
      await again.stop(end);
    }
  }
});
