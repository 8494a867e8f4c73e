/** Tests of the choice of the sink: its kind, its metrics and its requirements. */
import assert from "node:assert/strict";
import { createMetrics, sinkMetrics } from "../../../app/manager/metrics.ts";
import { createSink, type SinkOptions } from "../../../katib/log/sink_choice.ts";
import { SinkError } from "../../../owner/observations/sink.ts";
import { type LogKey } from "../../../trials/recording/observation_row.ts";
import { systemClock } from "../../../platform/base/clock.ts";
import { startFakeDbManager } from "./fake_db_manager.ts";

const long = () => AbortSignal.timeout(60_000);
const trial: LogKey = { kind: "trial", namespace: "ml", name: "t", uid: "1" };
const job: LogKey = { kind: "job", namespace: "ml", name: "j", uid: "2" };
const row = (value: string) => ({ time: "2026-01-01T00:00:00Z", name: "loss", value });

function optionsOf(more: Partial<SinkOptions> = {}): SinkOptions {
  return {
    setting: undefined,
    katibDbManager: "127.0.0.1:1",
    trialsExist: () => false,
    clock: systemClock,
    metrics: sinkMetrics(createMetrics()),
    deadlineMs: 5_000,
    ...more,
  };
}

Deno.test("`createSink()` makes what is chosen", async () => {
  const folder = await Deno.makeTempDir();
  const settings = {
    memory: { kind: "memory" },
    sqlite: { kind: "sqlite", path: `${folder}/log.db` },
    katib: { kind: "katib" },
    grpc: { kind: "grpc", address: "127.0.0.1:1" },
  } as const;
  for (const [name, setting] of Object.entries(settings)) {
    const sink = await createSink(optionsOf({ setting }));
    assert.equal(sink.traits.name, name);
    assert.equal(sink.traits.keepsPlainJobs, name !== "katib", name);
    assert.equal(sink.traits.isShared, name !== "memory", name);
    assert.equal(sink.traits.knowsTrialsByNameAlone, name === "katib" || name === "grpc", name);
    await sink.close();
  }
  await Deno.remove(folder, { recursive: true });
});

Deno.test("`createSink()` names the file that it cannot use", async () => {
  const setting = { kind: "sqlite", path: "/proc/nothing/log.db" } as const;
  await assert.rejects(
    createSink(optionsOf({ setting })),
    /observations in \/proc\/nothing\/log\.db/,
  );
});

Deno.test("`createSink()` defaults to Katib's DB manager if the kind Trial exists, otherwise to memory", async () => {
  const manager = await startFakeDbManager();
  let trialsExist = false;
  const sink = await createSink(optionsOf({
    katibDbManager: manager.address,
    trialsExist: () => trialsExist,
  }));
  assert.deepEqual([sink.traits.name, sink.traits.keepsPlainJobs, sink.traits.isShared], [
    "memory",
    true,
    false,
  ]);
  await sink.append(job, [row("1")], long());
  trialsExist = true;
  assert.deepEqual([sink.traits.name, sink.traits.keepsPlainJobs, sink.traits.isShared], [
    "katib",
    false,
    true,
  ]);
  await sink.append(trial, [row("2")], long());
  const later: LogKey = { ...job, name: "later", uid: "3" };
  await sink.append(later, [row("3")], long());
  assert.deepEqual([...manager.rows.keys()], ["t", "ml/later/3"]);
  // A log that began in memory stays there.
  await sink.append(job, [row("4")], long());
  assert.deepEqual((await sink.read(job, long())).map(({ value }) => value), ["1", "4"]);
  await sink.delete(job, long());
  await sink.append(job, [row("5")], long());
  assert.deepEqual([...manager.rows.keys()], ["t", "ml/later/3", "ml/j/2"]);
  await sink.close();
  await manager.stop();
});

Deno.test("`createSink()` counts rows by their result, and measures their time", async () => {
  const metrics = createMetrics();
  const sink = await createSink(
    optionsOf({ metrics: sinkMetrics(metrics), setting: { kind: "memory" } }),
  );
  await sink.append(trial, [row("1"), row("2")], long());
  await assert.rejects(sink.append(trial, [{ ...row("1"), time: "now" }], long()));
  await assert.rejects(sink.append(trial, [row("3"), row("4"), row("5")], AbortSignal.abort()));
  await sink.close();
  const counted = (await metrics.observations.get()).values
    .map(({ labels, value }) => `${labels.sink} ${labels.result} ${value}`);
  assert.deepEqual(counted.toSorted(), [
    "memory refused 1",
    "memory unavailable 3",
    "memory written 2",
  ]);
  const text = await metrics.registry.metrics();
  assert.match(text, /milepost_observation_seconds_count\{sink="memory"\} 3/);
});

Deno.test("`createSink()` counts a log that cannot be read back, but not a reader that leaves", async () => {
  const metrics = createMetrics();
  const setting = { kind: "grpc", address: "127.0.0.1:1" } as const;
  const sink = await createSink(optionsOf({ metrics: sinkMetrics(metrics), setting }));
  await assert.rejects(sink.read(trial, AbortSignal.abort()));
  const late = AbortSignal.abort(new SinkError("unavailable", "no answer in time"));
  await assert.rejects(sink.read(trial, late));
  await sink.close();
  const counted = (await metrics.observations.get()).values
    .map(({ labels, value }) => `${labels.sink} ${labels.result} ${value}`);
  assert.deepEqual(counted, ["grpc unavailable 1"]);
});
