/** `deno task bench slow-loris`: 2,000 connections of each slow kind, while honest pushes go on. */
import { statusPath } from "../../crds/names.ts";
import { until } from "../../tests/support/until.ts";
import { openSlowClients } from "../../tests/status/slow_clients.ts";
import { runLoad } from "../generator/generator.ts";
import { rssMb } from "../process_stats.ts";
import type { Benchmark, Measure } from "../result.ts";
import { addresses, targetsOf } from "../status/turns.ts";
import { type ManagerWorld, openFiles, withManager } from "./manager_world.ts";

const COUNT = 2000;
const SOURCES = Array.from({ length: 8 }, (_, number) => `127.0.3.${number + 1}`);
/** The longest that one may live: the idle time as shipped and that of a header, with some to spare. */
const CUT_MS = 120_000;
const BODY = '{"trainerStatus":{"lastUpdatedTime":"2026-01-01T00:00:00Z","progressPercentage":5}}';

/** A push of the world's first job. */
function pushText({ pushers: [pusher] }: ManagerWorld): string {
  if (pusher === undefined) throw new Error("there is no job");
  return `POST ${statusPath(pusher.namespace, pusher.trainJob)} HTTP/1.1\r\nHost: localhost\r\n` +
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

async function measure(world: ManagerWorld, say: (text: string) => void): Promise<Measure[]> {
  const { side: { url, pids: [pid = 0] } } = world;
  await honest(world, 5000);
  const before = { files: await openFiles(pid), rss: await rssMb(pid) };
  const pushing = honest(world, CUT_MS);
  pushing.catch(() => {});
  const target = { port: Number(new URL(url).port) };
  const began = performance.now();
  const options = { target, sources: SOURCES, honest: pushText(world), count: COUNT, atOnce: 32 };
  const clients = await openSlowClients(options);
  const during = { files: await openFiles(pid), rss: await rssMb(pid) };
  say(`${clients.length} are there, ${during.files} files, ${during.rss.toFixed(0)} MB`);
  const isBack = async () => await openFiles(pid) < before.files + 50;
  await until("all are cut", isBack, { timeoutMs: CUT_MS, everyMs: 500 });
  const seconds = (performance.now() - began) / 1000;
  for (const client of clients) client.destroy();
  const load = await pushing;
  const again = await honest(world, 5000);
  const after = { files: await openFiles(pid), rss: await rssMb(pid) };
  say(`cut: ${after.files} files, ${after.rss.toFixed(0)} MB`);
  const memory = [before, during, after].map(({ rss }) => `${rss.toFixed(0)} MB`).join(", ");
  return [
    {
      name: "slow-loris: honest pushes not taken meanwhile",
      value: load.sent - load.ok + load.unsent,
      unit: "",
      goal: { is: "at most", limit: 0 },
      note: `of ${load.sent}; p99 ${load.latency.p99.toFixed(1)} ms; without them ` +
        `${again.latency.p99.toFixed(1)} ms`,
    },
    {
      name: "slow-loris: until all are cut",
      value: seconds,
      unit: "s",
      goal: { is: "below", limit: CUT_MS / 1000 },
      note: `${clients.length} connections; files before, with them, after: ` +
        `${before.files}, ${during.files}, ${after.files}; memory: ${memory}`,
    },
  ];
}

export const slowLoris: Benchmark = {
  about: "2,000 connections each of half headers, half bodies and idle ones, beside honest pushes",
  run: (say) => withManager(say, 17, (world) => measure(world, say)),
};
