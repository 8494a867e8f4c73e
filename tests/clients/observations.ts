/**
 * Load of 10,000 observations of 50 trials into a log, with faults on the way: the log's server is killed
 * once, connections to it again and again, the owner of the state once. Afterwards the clients that Katib
 * publishes read the log.
 */
import assert from "node:assert/strict";
import { startControlPlane } from "../../app/standalone/control_plane.ts";
import { KINDS } from "../../crds/kinds.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { type ManagerProcess, startManagerProcess } from "../app/manager/manager_process.ts";
import { type Reporter, reporterOf } from "../cluster/support/pushing.ts";
import { shellRuntime } from "../support/standalone.ts";
import { createTrial, createTrialsJob, installTrials } from "../support/trials.ts";
import { until } from "../support/until.ts";
import { SIGNING_KEY } from "../support/signing_key.ts";

const TRIALS = 50;
const PUSHES = 100;
const METRICS = ["loss", "accuracy"] as const;
/** Number of rows that are acknowledged in the end. */
export const ROWS = TRIALS * PUSHES * METRICS.length;
const LONG = { timeoutMs: 180_000 } as const;

/** A row as Katib's clients read it: time, name, value. */
export type ReadRow = readonly [time: string, name: string, value: string];
/** A question of Katib's clients. */
export interface Question {
  readonly trial_name: string;
  readonly metric_name?: string;
  readonly start_time?: string;
  readonly end_time?: string;
}

/** A server of the DBManager service, as a process. */
export interface LogServer {
  readonly port: number;
  /** Resolves when it answers; if it was made before, it continues with its log. */
  start(client: KubeClient): Promise<void>;
  kill(): Promise<void>;
}

/** Context of the load. */
export interface ObservationsPlay {
  readonly server: LogServer;
  /** `--observation-sink` and what belongs to it, for a log at that address. */
  readonly flags: (address: string) => readonly string[];
  /** Asks the server itself. */
  readonly read: (questions: readonly Question[]) => Promise<readonly (readonly ReadRow[])[]>;
}

const nameOf = (index: number) => `trial-${index}`;

/** Begins in the past: a time that is to come would be cut to now. */
function timesFrom(now: number): string[] {
  return Array.from(
    { length: PUSHES },
    (_, step) => new Date(now - (2 * PUSHES - step) * 1000).toISOString(),
  );
}

const valueOf = (metric: string, trial: number, step: number) =>
  String((metric === "loss" ? 1 / (step + 1) : step / PUSHES) + trial);

/** A time as the log answers it: without zeros at its end. */
const shown = (time: string) => time.replace(/\.?0*Z$/, "Z");

/** Connections to the server, of which each 150th answer is lost, and the connection with it. */
function startLossyProxy(target: number): { port: number; stop(): Promise<void> } {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open = new Set<Deno.TcpConn>();
  const working = new Set<Promise<void>>();
  let answers = 0;
  const end = (connection: Deno.TcpConn) => {
    if (open.delete(connection)) connection.close();
  };

  async function pass(from: Deno.TcpConn, to: Deno.TcpConn, isAnswer: boolean): Promise<void> {
    const buffer = new Uint8Array(65_536);
    try {
      for (;;) {
        const count = await from.read(buffer);
        if (count === null || (isAnswer && ++answers % 150 === 0)) break;
        for (let at = 0; at < count;) at += await to.write(buffer.subarray(at, count));
      }
    } catch {
      // One side is gone: so is the other.
    }
    end(from);
    end(to);
  }

  async function serve(client: Deno.TcpConn): Promise<void> {
    open.add(client);
    try {
      const server = await Deno.connect({ hostname: "127.0.0.1", port: target });
      open.add(server);
      for (const side of [client, server]) side.setNoDelay();
      await Promise.all([pass(client, server, false), pass(server, client, true)]);
    } catch {
      end(client);
    }
  }
  const accepting = (async () => {
    for await (const connection of listener) {
      const work = serve(connection).finally(() => working.delete(work));
      working.add(work);
    }
  })();
  return {
    port: listener.addr.port,
    async stop() {
      listener.close();
      await accepting;
      for (const connection of open) end(connection);
      await Promise.all(working);
    },
  };
}

/** Counts what was acknowledged, and tells when so many are. */
class Progress {
  pushed = 0;

  async reaches(count: number): Promise<void> {
    await until(`${count} pushes are acknowledged`, () => this.pushed >= count, LONG);
  }
}

/** The pod of one trial: each push again and again, at whoever answers, until it is acknowledged. */
async function report(
  reporter: Reporter,
  trial: number,
  times: readonly string[],
  { urls, progress }: { urls: () => readonly string[]; progress: Progress },
): Promise<void> {
  let turn = trial;
  for (const [step, lastUpdatedTime] of times.entries()) {
    const metrics = METRICS.map((name) => ({ name, value: valueOf(name, trial, step) }));
    await until(`push ${step} of ${nameOf(trial)} is acknowledged`, async () => {
      const all = urls();
      const code = await reporter.send(all[turn % all.length] ?? "", { metrics, lastUpdatedTime });
      if (code !== 200) turn++;
      return code === 200;
    }, { ...LONG, everyMs: 500 });
    progress.pushed++;
  }
}

async function makeTrials(client: KubeClient): Promise<void> {
  await client.create(KINDS.clusterTrainingRuntime, shellRuntime("idle", "sleep 60"));
  for (let index = 0; index < TRIALS; index++) {
    const trial = await createTrial(client, nameOf(index), "idle", {
      spec: {
        objective: {
          type: "minimize",
          objectiveMetricName: "loss",
          additionalMetricNames: ["accuracy"],
        },
      },
    });
    await until("the TrainJob is taken", async () => {
      await createTrialsJob(client, trial);
      return true;
    }, LONG);
  }
}

async function leads(manager: ManagerProcess): Promise<boolean> {
  return /^milepost_leader 1$/m.test(await manager.metrics());
}

/** Acknowledged rows of a trial, as they must be read. */
function expectedOf(trial: number, times: readonly string[]): ReadRow[] {
  return times.flatMap((time, step) =>
    METRICS.map((name): ReadRow => [shown(time), name, valueOf(name, trial, step)])
  );
}

/** By time; of one time by name: those of one push have no order. */
const sorted = (rows: readonly ReadRow[]) =>
  [...rows].sort(([a, b], [c, d]) => a < c ? -1 : a > c ? 1 : b < d ? -1 : b > d ? 1 : 0);

async function assertRead(play: ObservationsPlay, times: readonly string[]): Promise<number> {
  const [from = "", to = ""] = [times[PUSHES / 5], times[PUSHES / 2]].map((time) =>
    shown(time ?? "")
  );
  const trials = Array.from({ length: TRIALS }, (_, trial) => trial);
  const answers = await play.read(trials.flatMap((trial) => {
    const trial_name = nameOf(trial);
    return [
      { trial_name },
      { trial_name, metric_name: "loss" },
      { trial_name, metric_name: "accuracy", start_time: from, end_time: to },
    ];
  }));
  let rows = 0;
  for (const trial of trials) {
    const [all = [], loss = [], part = []] = answers.slice(trial * 3, trial * 3 + 3);
    const expected = expectedOf(trial, times);
    assert.deepEqual(sorted(all), sorted(expected), nameOf(trial));
    assert.deepEqual(loss, expected.filter(([, name]) => name === "loss"), nameOf(trial));
    const within = ([time, name]: ReadRow) => name === "accuracy" && time >= from && time <= to;
    assert.deepEqual(part, expected.filter(within), nameOf(trial));
    rows += all.length;
  }
  return rows;
}

/** Plays the load. Returns the number of rows that were read, each of which was acknowledged, once. */
export async function playObservations(play: ObservationsPlay): Promise<number> {
  await using cleanup = new AsyncDisposableStack();
  const plane = await startControlPlane({ port: 0, signingKey: SIGNING_KEY, kubelet: false });
  cleanup.defer(() => plane.stop());
  const { client } = plane;
  await installTrials(client);
  const proxy = startLossyProxy(play.server.port);
  cleanup.defer(() => proxy.stop());
  const managers: ManagerProcess[] = [];
  for (const name of ["a", "b"]) {
    const flags = play.flags(`127.0.0.1:${proxy.port}`);
    const manager = await startManagerProcess({ kubeconfig: plane.kubeconfig, name, flags });
    managers.push(manager);
    cleanup.defer(async () => void await manager.stop("SIGKILL").catch(() => {}));
    await until("it is ready", async () => (await manager.readyz()).code === 200, LONG);
  }
  await play.server.start(client);
  cleanup.defer(() => play.server.kill());
  await makeTrials(client);

  const times = timesFrom(Date.now());
  const progress = new Progress();
  const urls = () => managers.map(({ status }) => status);
  const reporting = Array.from({ length: TRIALS }, async (_, trial) => {
    const found = () => reporterOf(client, { trainJob: nameOf(trial) });
    using reporter = await until(`the pod of ${nameOf(trial)}`, found, LONG);
    await report(reporter, trial, times, { urls, progress });
  });
  const reported = Promise.all(reporting);
  reported.catch(() => {}); // It is awaited at the end.

  await progress.reaches(TRIALS * PUSHES * 0.3);
  await play.server.kill();
  await until(
    "pushes are refused",
    async () =>
      (await Promise.all(managers.map((it) => it.metrics()))).some((text) =>
        /^milepost_observations_total\{sink="[a-z]+",result="unavailable"\} /m.test(text)
      ),
    LONG,
  );
  await play.server.start(client);
  await progress.reaches(TRIALS * PUSHES * 0.6);
  const [first, second] = managers;
  assert.ok(first && second);
  const [owner, other] = await leads(first) ? [first, second] : [second, first];
  await owner.stop("SIGKILL");
  managers.splice(managers.indexOf(owner), 1);
  await until("the other one leads", () => leads(other), LONG);
  await reported;
  return await assertRead(play, times);
}
