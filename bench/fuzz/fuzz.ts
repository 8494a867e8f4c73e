/** `deno task bench fuzz [--seed N] [--requests N]`: requests of all kinds, against an oracle. */
import { parseArgs } from "node:util";
import { fuzz as run, type FuzzCounts, inMemory } from "../../tests/status/fuzz/fuzz.ts";
import { hostileBench } from "../../tests/status/hostile/case.ts";
import type { Benchmark, Measure } from "../result.ts";
import { startSocketTarget } from "./socket_target.ts";

/** One in this many requests goes over a real connection. */
const SOCKET_SHARE = 10;
/** Requests with one pool of tokens; of three about one can be sent over a connection. */
const ROUND = 10_000;

interface Total {
  readonly counts: FuzzCounts;
  seconds: number;
  requests: number;
}

const emptyTotal = (): Total => ({ counts: {}, seconds: 0, requests: 0 });

function add(total: Total, counts: FuzzCounts, began: number): void {
  total.seconds += (performance.now() - began) / 1000;
  for (const [code, count] of Object.entries(counts)) {
    total.counts[Number(code)] = (total.counts[Number(code)] ?? 0) + count;
    total.requests += count;
  }
}

async function overSockets(total: Total, seed: number, runs: number): Promise<void> {
  const bench = hostileBench();
  const { target, close } = await startSocketTarget(bench);
  const began = performance.now();
  try {
    add(total, await run(bench, target, { seed, runs }), began);
  } finally {
    await close();
    await bench.reviews.close();
  }
}

async function throughHandler(total: Total, seed: number, runs: number): Promise<void> {
  const bench = hostileBench();
  const began = performance.now();
  add(total, await run(bench, inMemory(bench), { seed, runs }), began);
  await bench.reviews.close();
}

function measure(name: string, { counts, seconds, requests }: Total, goal: number, seed: number) {
  const codes = Object.entries(counts).map(([code, count]) => `${count} × ${code}`).join(", ");
  return {
    name: `fuzz: ${name}`,
    value: requests,
    unit: "requests",
    goal: { is: "at least", limit: goal },
    note: `none answered, told to the owner or logged against the oracle; seeds from ${seed}, ` +
      `in ${seconds.toFixed(0)} s; ${codes}`,
  } satisfies Measure;
}

export const fuzz: Benchmark = {
  about: "100,000 requests of all kinds, each held against an oracle; --seed N, --requests N",
  takesOptions: true,
  async run(say, options = []) {
    const { values } = parseArgs({
      args: [...options],
      options: { seed: { type: "string" }, requests: { type: "string", default: "100000" } },
    });
    const seed = Number(values.seed ?? Date.now() % 1_000_000_000);
    const requests = Number(values.requests);
    const sockets = Math.ceil(requests / SOCKET_SHARE);
    const [memory, wire] = [emptyTotal(), emptyTotal()];
    for (let round = 0; memory.requests < requests - sockets; round++) {
      const left = requests - sockets - memory.requests;
      say(`${memory.requests} requests in memory, seed ${seed + round}`);
      await throughHandler(memory, seed + round, Math.min(ROUND, left));
    }
    for (let round = 0; wire.requests < sockets; round++) {
      say(`${wire.requests} requests over TLS, seed ${seed - 1 - round}`);
      const runs = Math.min(ROUND, 3 * (sockets - wire.requests));
      await overSockets(wire, seed - 1 - round, runs);
    }
    return [
      measure("in memory", memory, requests - sockets, seed),
      measure("over TLS, a connection each", wire, sockets, seed),
    ];
  },
};
