/** Tests from a real pod's token to the TrainJob: histories, gzip bodies, and implausible times. */
import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { z } from "zod";
import type { Standalone } from "../../../app/standalone/standalone.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { statusPath } from "../../../crds/job_kind.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { HISTORY_LIMITS, LABELS, PUSH_AUDIENCE } from "../../../crds/names.ts";
import {
  requestToken,
  shellRuntime,
  trainJob,
  trainJobThat,
  withStandalone,
} from "../../support/standalone.ts";
import { until } from "../../support/until.ts";

const answerSchema = z.looseObject({
  count: z.number().optional(),
  warnings: z.array(z.string()).optional(),
  details: z.looseObject({ causes: z.array(z.looseObject({ field: z.string() })) }).optional(),
});

/** Sends JSON, packed where asked for, to the path of the job's pushes or of its histories. */
async function post(
  { status: base, caBundle }: Standalone,
  token: string,
  body: unknown,
  how: { to?: "/history"; gzip?: boolean; encoding?: string } = {},
) {
  using client = Deno.createHttpClient({ caCerts: [caBundle()] });
  const text = JSON.stringify(body);
  const encoding = how.encoding ?? (how.gzip ? "gzip" : undefined);
  const answer = await fetch(`${base}${statusPath(TRAINJOB, "default", "job")}${how.to ?? ""}`, {
    method: "POST",
    client,
    headers: {
      authorization: `Bearer ${token}`,
      ...(encoding !== undefined && { "content-encoding": encoding }),
    },
    body: how.gzip ? new Uint8Array(gzipSync(text)) : text,
    signal: AbortSignal.timeout(30_000),
  });
  return { code: answer.status, ...answerSchema.parse(await answer.json()) };
}

/** A job whose one pod runs, with that pod's token and start. */
async function runningPod({ client }: Standalone) {
  await client.create(KINDS.clusterTrainingRuntime, shellRuntime("idle", "sleep 120"));
  await client.create(KINDS.trainJob, trainJob("job", "idle"));
  const pod = await until("the pod runs", async () => {
    const labelSelector = `${LABELS.trainJobName}=job`;
    const { items } = await client.list(KINDS.pod, { namespace: "default", labelSelector });
    return items.find(({ status }) => status?.startTime !== undefined);
  }, { timeoutMs: 60_000 });
  const { name = "", uid = "" } = pod.metadata ?? {};
  const account = { namespace: "default", name: "default" };
  const token = await requestToken(client, account, {
    audience: PUSH_AUDIENCE,
    pod: { name, uid },
  });
  return { token, startMs: Date.parse(String(pod.status?.startTime)) };
}

const sample = (progressPercentage: number, ms: number) => ({
  progressPercentage,
  lastUpdatedTime: new Date(ms).toISOString(),
});

Deno.test("a pod's histories, gzip bodies and implausible times reach the TrainJob correctly", async () => {
  await withStandalone(async (standalone) => {
    const { client } = standalone;
    const { token, startMs } = await runningPod(standalone);
    const shown = (progress: number) =>
      trainJobThat(
        client,
        "job",
        `shows ${progress}%`,
        ({ status }) => status?.trainerStatus?.progressPercentage === progress,
      );
    const timeOf = (job: Awaited<ReturnType<typeof shown>>) =>
      Date.parse(job.status?.trainerStatus?.lastUpdatedTime ?? "");

    const samples = [sample(1, startMs), sample(2, startMs), sample(3, startMs + 1)];
    const history = await post(standalone, token, { samples }, { to: "/history" });
    assert.deepEqual([history.code, history.count, history.warnings], [200, 3, undefined]);
    assert.equal(timeOf(await shown(3)), startMs);

    const packed = { trainerStatus: sample(4, Date.now()) };
    assert.equal((await post(standalone, token, packed, { gzip: true })).code, 200);
    await shown(4);

    const hour = 3_600_000;
    const future = { trainerStatus: sample(5, Date.now() + hour) };
    const early = await post(standalone, token, future);
    assert.match(early.warnings?.[0] ?? "", /is in the future/);
    assert.ok(timeOf(await shown(5)) <= Date.now());

    const past = { samples: [sample(6, startMs - 2 * hour), sample(7, startMs - hour)] };
    const late = await post(standalone, token, past, { to: "/history", gzip: true });
    assert.match(late.warnings?.[0] ?? "", /2 of 2 samples is before the pod's start/);
    assert.equal(timeOf(await shown(7)), startMs);

    const bomb = { samples: [], later: " ".repeat(HISTORY_LIMITS.bodyBytes) };
    assert.equal((await post(standalone, token, bomb, { to: "/history", gzip: true })).code, 413);
    const broken = await post(standalone, token, packed, { encoding: "gzip" });
    assert.deepEqual(broken.details?.causes.map(({ field }) => field), ["Content-Encoding"]);
    const backwards = { samples: [sample(9, startMs + 2), sample(8, startMs)] };
    assert.equal((await post(standalone, token, backwards, { to: "/history" })).code, 422);
  });
});
