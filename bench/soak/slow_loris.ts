/** `deno task bench slow-loris`: 2,000 connections of each slow kind, while honest pushes go on. */
import { statusPath } from "../../crds/job_kind.ts";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import { until } from "../../tests/support/until.ts";
import { openSlowClients } from "../../tests/platform/http/slow_clients.ts";
import { runLoad } from "../generator/generator.ts";
import { rssMb } from "../process_stats.ts";
import type { Benchmark, Measure } from "../result.ts";
import { connectInspector } from "../status/profile.ts";
import { addresses, targetsOf } from "../status/turns.ts";
import { type ManagerWorld, openFiles, sample, withManager } from "./manager_world.ts";

const COUNT = 2000;
const SOURCES = Array.from({ length: 8 }, (_, number) => `127.0.3.${number + 1}`);
/** The longest that one may live: the idle time as shipped and that of a header, with some to spare. */
const CUT_MS = 120_000;
const BODY = '{"trainerStatus":{"lastUpdatedTime":"2026-01-01T00:00:00Z","progressPercentage":5}}';

/** A push of the world's first job. */
function pushText({ pushers: [pusher] }: ManagerWorld): string {
  if (pusher === undefined) throw new Error("there is no job");
  return `POST ${
    statusPath(TRAINJOB, pusher.namespace, pusher.trainJob)
  } HTTP/1.1\r\nHost: localhost\r\n` +
    `Authorization: Bearer ${pusher.token}\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`;
}

/** Honest pushes for `durationMs`, each on a connection of its own. */
async function honest({ side, pushers }: ManagerWorld, durationMs: number) {
  return await runLoad({
    name: "honest",
    targets: targetsOf(side.url, pushers.slice(1)),
    caPem: side.caPem,
    mode: "connection-per-push",
    connections: 16,
    rate: 50,
    durationMs,
    sources: addresses(8),
  });
}

/** One wave of slow clients, until all are disconnected. Returns the seconds, and the connections meanwhile. */
async function wave(world: ManagerWorld, filesBefore: number) {
  const { side: { url, pids: [pid = 0] } } = world;
  const target = { port: Number(new URL(url).port) };
  const began = performance.now();
  const options = { target, sources: SOURCES, honest: pushText(world), count: COUNT, atOnce: 32 };
  const clients = await openSlowClients(options);
  const during = { files: await openFiles(pid), rss: await rssMb(pid) };
  const isBack = async () => await openFiles(pid) < filesBefore + 50;
  await until("all are cut", isBack, { timeoutMs: CUT_MS, everyMs: 500 });
  for (const client of clients) client.destroy();
  return { seconds: (performance.now() - began) / 1000, count: clients.length, ...during };
}

/** Two waves, since only the second shows whether the first left something behind. */
async function measure(world: ManagerWorld, say: (text: string) => void): Promise<Measure[]> {
  const { side: { pids: [pid = 0], inspector: port = 0 } } = world;
  const inspector = await connectInspector(port);
  const look = () => sample(inspector, pid, performance.now());
  await honest(world, 5000);
  const looks = [await look()];
  const waves = [];
  const pushed = [];
  for (let number = 1; number <= 2; number++) {
    const pushing = honest(world, CUT_MS);
    pushing.catch(() => {});
    const done = await wave(world, looks[0]?.files ?? 0);
    waves.push(done);
    pushed.push(await pushing);
    looks.push(await look());
    say(
      `wave ${number}: ${done.count} connections, ${done.files} files, ${done.rss.toFixed(0)} MB`,
    );
  }
  inspector.close();
  const [before, first, second] = looks;
  const sent = pushed.reduce((sum, load) => sum + load.sent, 0);
  const failed = pushed.reduce((sum, load) => sum + load.sent - load.ok + load.unsent, 0);
  const memory = (of: "rss" | "heap") => looks.map((it) => it[of].toFixed(0)).join(", ");
  return [
    {
      name: "slow-loris: honest pushes not taken meanwhile",
      value: failed,
      unit: "",
      goal: { is: "at most", limit: 0 },
      note: `of ${sent}; p99 ${pushed.map((it) => it.latency.p99.toFixed(1)).join(" and ")} ms`,
    },
    {
      name: "slow-loris: until all are cut",
      value: Math.max(...waves.map(({ seconds }) => seconds)),
      unit: "s",
      goal: { is: "below", limit: CUT_MS / 1000 },
      note: `${waves.map(({ count }) => count).join(" and ")} connections; with them ` +
        `${waves.map(({ files, rss }) => `${files} files, ${rss.toFixed(0)} MB`).join("; ")}`,
    },
    {
      name: "slow-loris: open files that stay",
      value: (second?.files ?? 0) - (before?.files ?? 0),
      unit: "",
      goal: { is: "below", limit: 50 },
    },
    {
      name: "slow-loris: heap that the second wave leaves over the first",
      value: (second?.heap ?? 0) - (first?.heap ?? 0),
      unit: "MB",
      goal: { is: "below", limit: 2 },
      note: `before, after the first, after the second: heap ${memory("heap")} MB, ` +
        `RSS ${memory("rss")} MB`,
    },
  ];
}

export const slowLoris: Benchmark = {
  about: "2,000 connections each of half headers, half bodies and idle ones, beside honest pushes",
  run: (say) => withManager(say, 17, (world) => measure(world, say)),
};
