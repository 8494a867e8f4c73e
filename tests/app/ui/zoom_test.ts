/** Tests of zooming into the curves of jobs that pushed much, end to end. */
import assert from "node:assert/strict";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { LABELS, PUSH_AUDIENCE } from "../../../crds/names.ts";
import { observer } from "../../support/observer.ts";
import { requestToken, shareStandalone, shellRuntime, trainJob } from "../../support/standalone.ts";
import { until } from "../../support/until.ts";
import { exactPoints, pushHistory, readCurve } from "./zoom_support.ts";

const standalone = shareStandalone((client) =>
  client.create(KINDS.clusterTrainingRuntime, shellRuntime("idle", "sleep 600"))
);

/** Metrics of a sample, and samples: 20,000 rows. A history has at most 1,000 samples. */
const METRICS = 16;
const SAMPLES = 1_250;
const PER_HISTORY = 250;
const SPIKE = 700;
/** Rules that are never met make the log the job's own. */
const RULES = JSON.stringify({
  objective: { name: "metric-0", type: "minimize" },
  rules: [{ name: "metric-0", value: "1e308", comparison: "greater" }],
});

/** A job that has pushed 20,000 rows, one a millisecond, and a reader. */
async function pushed(name: string, annotations: Record<string, string>) {
  const { client, ...all } = standalone();
  await client.create(KINDS.trainJob, trainJob(name, "idle", { annotations }));
  const pod = await until(`a pod of ${name}`, async () => {
    const labelSelector = `${LABELS.trainJobName}=${name}`;
    const { items } = await client.list(KINDS.pod, { namespace: "default", labelSelector });
    return items.find(({ status }) => status?.startTime !== undefined);
  }, { timeoutMs: 60_000 });
  const startMs = Date.parse(pod.status?.startTime ?? "");
  // Times before the start of the pod, or to come, would be others.
  await until("the pod has run long enough", () => Date.now() > startMs + SAMPLES);
  const { name: podName = "", uid = "" } = pod.metadata ?? {};
  const account = { namespace: "default", name: "default" };
  const options = { audience: PUSH_AUDIENCE, pod: { name: podName, uid } };
  const token = await requestToken(client, account, options);
  const samples = Array.from({ length: SAMPLES }, (_, n) => ({
    ms: startMs + n,
    value: n === SPIKE ? 1e6 : n + 0.123456789,
  }));
  for (let from = 0; from < SAMPLES; from += PER_HISTORY) {
    const history = samples.slice(from, from + PER_HISTORY).map(({ ms, value }) => ({
      lastUpdatedTime: new Date(ms).toISOString(),
      metrics: Array.from(
        { length: METRICS },
        (_, metric) => ({ name: `metric-${metric}`, value: String(value + metric) }),
      ),
    }));
    assert.equal(await pushHistory(all, { job: name, token }, history), 200);
  }
  const reader = await observer(client, `reader-of-${name}`, TRAINJOB, ["get", "list"]);
  const read = (metric: string, range?: { fromMs: number; toMs: number }) =>
    readCurve(all, { job: name, token: reader.token, metric }, range);
  return { samples, startMs, read };
}

Deno.test("a job that pushed 20,000 rows: a short range has its exact samples, a spike is in each", async () => {
  const { samples, startMs, read } = await pushed("much", {
    "trainer.kubeflow.org/early-stopping": RULES,
  });
  const whole = await read("metric-0");
  assert.ok((whole?.points.length ?? 0) < 128);
  assert.equal(whole?.source, undefined);
  const short = { fromMs: startMs + 650, toMs: startMs + 749 };
  const zoomed = await read("metric-0", short);
  assert.deepEqual([zoomed?.source, zoomed?.cut], ["log", undefined]);
  assert.deepEqual(zoomed?.points, exactPoints(samples, short));
  for (const half of [600, 200, 40, 0]) {
    const range = { fromMs: startMs + SPIKE - half, toMs: startMs + SPIKE + half };
    const { points = [], source } = await read("metric-0", range) ?? {};
    assert.equal(source, "log");
    assert.equal(points.filter(([, , max]) => max === 1e6).length, 1, `${half} ms around it`);
  }
  const last = await read("metric-15", { fromMs: startMs, toMs: startMs + 2_000 });
  assert.equal(last?.points.at(-1)?.[3], SAMPLES - 1 + 0.123456789 + 15);
});

Deno.test("of a job without rules the log is short: what it still has is shown, and that it is cut", async () => {
  const { samples, startMs, read } = await pushed("ordinary", {});
  const end = { fromMs: startMs + SAMPLES - 20, toMs: startMs + SAMPLES };
  const zoomed = await read("metric-0", end);
  assert.deepEqual([zoomed?.source, zoomed?.cut], ["log", undefined]);
  assert.deepEqual(zoomed?.points, exactPoints(samples, end));
  const begin = await read("metric-0", { fromMs: startMs, toMs: startMs + 500 });
  assert.equal(begin?.source, "curve");
  const all = await read("metric-0", { fromMs: startMs, toMs: startMs + SAMPLES });
  assert.deepEqual([all?.source, all?.cut], ["log", true]);
});
