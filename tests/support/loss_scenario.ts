/**
 * Scenario of lost progress: the owner of the ledger goes away under load, in three ways, and the
 * acknowledged pushes are compared with the objects before any further push
 * (docs/guides/operate.md, "What can be lost").
 */
import assert from "node:assert/strict";
import { KINDS } from "../../crds/kinds.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { type ManagerProcess, startManagerProcess } from "../app/manager/manager_process.ts";
import { type Crowd, type Loss, startCrowd } from "./loss.ts";
import { shellRuntime, trainJob } from "./standalone.ts";
import { until } from "./until.ts";

/** Stage of the scenario. */
export interface LossStage {
  readonly client: KubeClient;
  /** Of the manager's user. */
  readonly kubeconfig: string;
  readonly jobs: number;
  /** `--status-writes-qps`. */
  readonly writesPerSecond: number;
  /** More flags of the managers. */
  readonly flags?: readonly string[];
}

/** Lost progress of each case, and the promised bound for SIGKILL. */
export interface Losses {
  readonly killed: Loss;
  readonly paused: Loss;
  /** Duration of the end by SIGTERM, which loses nothing. */
  readonly endedMs: number;
  readonly boundMs: number;
}

/** For what is under way, and for a machine that is busy with other tests. */
const SLACK_MS = 4_000;
const LONG = { timeoutMs: 90_000 } as const;

async function metricOf(manager: ManagerProcess, series: string): Promise<number> {
  const line = (await manager.metrics()).split("\n")
    .find((it) => it.startsWith(`milepost_${series} `));
  return Number(line?.split(" ").at(-1) ?? 0);
}

async function leads(manager: ManagerProcess): Promise<boolean> {
  return await metricOf(manager, "leader") === 1;
}

const isReady = (manager: ManagerProcess) =>
  until(`${manager.name} is ready`, async () => (await manager.readyz()).code === 200, LONG);

/** It owns the state, and has written what it took. */
const owns = (manager: ManagerProcess) =>
  until(
    `${manager.name} leads and has nothing to write`,
    async () => await leads(manager) && await metricOf(manager, "ledger_pending") === 0,
    LONG,
  );

/** Pushes to both until every job was written several times by this owner. */
async function load(crowd: Crowd, owner: ManagerProcess, other: ManagerProcess): Promise<void> {
  const before = crowd.fewestShown();
  crowd.report((index) => (index % 2 === 0 ? owner : other).status);
  await until("every job was written 5 times", () => crowd.fewestShown() >= before + 5, LONG);
}

/** The next push of each job brings its object up to date, and nothing ever goes back. */
async function assertRepaired(crowd: Crowd, owner: ManagerProcess): Promise<void> {
  await crowd.pushOnce(owner.status);
  await until("every job shows its newest push", () => crowd.allShown(), LONG);
  assert.deepEqual(crowd.wentBack(), []);
}

function assertBounded(loss: Loss, boundMs: number, how: string): void {
  const { jobs, pushes, longestMs } = loss;
  assert.ok(
    longestMs <= boundMs + SLACK_MS,
    `${how}: ${pushes} pushes of ${jobs} jobs, the oldest ${Math.round(longestMs)} ms before`,
  );
}

/** Killed: what it held is gone with it. */
async function playKill(crowd: Crowd, owner: ManagerProcess, other: ManagerProcess) {
  await load(crowd, owner, other);
  const atMs = performance.now();
  await owner.stop("SIGKILL");
  await crowd.pause();
  await owns(other);
  const loss = await crowd.lossAt(atMs);
  await assertRepaired(crowd, other);
  return loss;
}

/** Stopped beyond its lease: another one follows, and it finds out when it wakes. */
async function playPause(crowd: Crowd, owner: ManagerProcess, other: ManagerProcess) {
  await load(crowd, owner, other);
  // Between two writes: one that is caught on its way to the network arrives after the pause.
  const values = crowd.valuesShown();
  await until("a write has landed", () => crowd.valuesShown() > values, { ...LONG, everyMs: 2 });
  const atMs = performance.now();
  Deno.kill(owner.pid, "SIGSTOP");
  await crowd.pause();
  await owns(other);
  const loss = await crowd.lossAt(atMs);
  await crowd.pushOnce(other.status);
  crowd.report(() => other.status);
  Deno.kill(owner.pid, "SIGCONT");
  await until("the woken one knows that it leads no more", async () => !await leads(owner), LONG);
  await until(
    "it has dropped what it held",
    async () => await metricOf(owner, "ledger_pending") === 0,
    LONG,
  );
  await crowd.pause();
  await owns(other);
  await assertRepaired(crowd, other);
  return loss;
}

/** A stopped owner writes pending values before it releases the Lease. Returns how long that took. */
async function playEnd(crowd: Crowd, owner: ManagerProcess, other: ManagerProcess) {
  await load(crowd, owner, other);
  const [{ code, tookMs }] = await Promise.all([owner.stop("SIGTERM"), crowd.pause()]);
  assert.equal(code, 0, owner.log());
  assert.ok(tookMs < 10_000, `SIGTERM took ${tookMs} ms`);
  assert.doesNotMatch(owner.log(), /progress unwritten/);
  // What a client sent at the very end went to the next owner.
  await owns(other);
  assert.deepEqual(await crowd.lossAt(0), { jobs: 0, pushes: 0, longestMs: 0 });
  await assertRepaired(crowd, other);
  return tookMs;
}

/** Plays the scenario, asserts the promises, and returns the measurements. */
export async function playLosses(stage: LossStage): Promise<Losses> {
  const { client, kubeconfig, jobs, writesPerSecond } = stage;
  const boundMs = Math.max(1, jobs / writesPerSecond) * 1000;
  await using cleanup = new AsyncDisposableStack();
  const start = async (name: string) => {
    const flags = [`--status-writes-qps=${writesPerSecond}`, ...stage.flags ?? []];
    const manager = await startManagerProcess({ kubeconfig, name, flags });
    cleanup.defer(async () => {
      await manager.stop("SIGKILL").catch(() => {}); // It may have ended by itself.
    });
    await isReady(manager);
    return manager;
  };
  const [first, second] = [await start("first"), await start("second")];
  await owns(first);
  await client.create(KINDS.clusterTrainingRuntime, shellRuntime("idle", "sleep 600"));
  const names = Array.from({ length: jobs }, (_, index) => `loss-${index}`);
  for (const name of names) await client.create(KINDS.trainJob, trainJob(name, "idle"));
  const crowd = await startCrowd(client, names);
  cleanup.defer(() => crowd.stop());
  const killed = await playKill(crowd, first, second);
  assertBounded(killed, boundMs, "kill -9");
  const third = await start("third");
  const paused = await playPause(crowd, second, third);
  assertBounded(paused, boundMs, "SIGSTOP");
  const endedMs = await playEnd(crowd, third, second);
  return { killed, paused, endedMs, boundMs };
}
