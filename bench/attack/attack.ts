/** Pushes of honest jobs without and with an attacker beside them, who has addresses of their own. */
import { run } from "../../tests/support/command.ts";
import { buildGenerator, runLoads } from "../generator/generator.ts";
import { type Load, type LoadPlan, parseLoad } from "../generator/plan.ts";
import { cpuSeconds } from "../process_stats.ts";
import { type Benchmark, type Measure, quantile } from "../result.ts";
import { type Endpoint, withEndpoint } from "./endpoint.ts";

const JOBS = 64;
/** Pushes a second of the honest jobs: half over kept connections, half with a new one each. */
const HONEST_RATE = 200;
const FORGED_RATE = 5_000;
/** Each way takes its turn this often; what is shown is the median. */
const TURNS = 3;
const TURN_MS = 8_000;
const WARM_UP_MS = 2_000;
/** Beyond the turn: what the attacker's generator needs to start and to end. */
const SPARE_MS = 30_000;
const HONEST_ADDRESSES = ["127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"];
const ATTACKERS = ["127.0.66.1", "127.0.66.2", "127.0.66.3", "127.0.66.4"];

/** How the attacker comes: not at all, over kept connections, or with a new one for each push. */
const WAYS = ["none", "keep-alive", "connection-per-push"] as const;
type Way = typeof WAYS[number];

function honestPlans({ targets, caPem }: Endpoint): LoadPlan[] {
  const half = targets.length / 2;
  const common = {
    caPem,
    connections: half,
    rate: HONEST_RATE / 2,
    durationMs: TURN_MS,
    warmUpMs: WARM_UP_MS,
    sources: HONEST_ADDRESSES,
  };
  return [
    { ...common, name: "kept", mode: "keep-alive", targets: targets.slice(0, half) },
    { ...common, name: "new", mode: "connection-per-push", targets: targets.slice(half) },
  ];
}

/** The attacker has a machine of its own: here its generator comes after everybody else. */
async function runAttacker(
  { targets, caPem }: Endpoint,
  mode: Exclude<Way, "none">,
): Promise<Load | undefined> {
  const plan: LoadPlan = {
    name: "attacker",
    mode,
    targets: targets.slice(0, 1),
    caPem,
    connections: 256,
    rate: FORGED_RATE,
    durationMs: TURN_MS,
    sources: ATTACKERS,
    forged: { kind: "random-signature", differ: true },
  };
  const { code, stdout, stderr } = await run("nice", {
    args: ["-n", "10", await buildGenerator()],
    stdin: JSON.stringify({ plans: [plan] }),
    timeoutMs: TURN_MS + SPARE_MS,
  });
  if (code !== 0) throw new Error(`the attacker ended with ${code}: ${stderr.trim()}`);
  return parseLoad(stdout).results[0];
}

interface Turn {
  readonly honest: readonly Load[];
  readonly attacker?: Load;
  /** Processor time of the manager, in seconds. */
  readonly managerSeconds: number;
}

async function turn(endpoint: Endpoint, way: Way): Promise<Turn> {
  const before = await cpuSeconds(endpoint.pid);
  const [{ results: honest }, attacker] = await Promise.all([
    runLoads(honestPlans(endpoint)),
    way === "none" ? undefined : runAttacker(endpoint, way),
  ]);
  return { honest, attacker, managerSeconds: await cpuSeconds(endpoint.pid) - before };
}

function sum(turns: readonly Turn[], of: (turn: Turn) => number): number {
  return turns.reduce((total, it) => total + of(it), 0);
}

/** How often the attacker met what, such as `{"429": 12, "closed": 345}`. */
function metBy(turns: readonly Turn[]): string {
  const met: Record<string, number> = {};
  for (const { attacker } of turns) {
    for (const [what, times] of Object.entries({ ...attacker?.byStatus, ...attacker?.errors })) {
      met[what] = (met[what] ?? 0) + times;
    }
  }
  return JSON.stringify(met);
}

function noteOf(turns: readonly Turn[]): string {
  const seconds = turns.length * TURN_MS / 1000;
  const of = (pick: (load: Load) => number) =>
    sum(turns, ({ honest }) => honest.reduce((total, load) => total + pick(load), 0));
  const parts = [
    `${of((load) => load.ok)} of ${of((load) => load.sent)} honest pushes taken`,
    `manager ${(sum(turns, (it) => it.managerSeconds) / seconds * 100).toFixed(0)} % of a core`,
  ];
  if (turns.some(({ attacker }) => attacker !== undefined)) {
    const sent = sum(turns, ({ attacker }) => attacker?.sent ?? 0) / seconds;
    const handshakes = sum(turns, ({ attacker }) => attacker?.handshakes ?? 0);
    parts.push(
      `attacker sent ${sent.toFixed(0)}/s, made ${handshakes} handshakes, met ${metBy(turns)}`,
    );
  }
  return parts.join("; ");
}

/** The median over the turns of the p99 of one kind of honest connections. */
function p99Of(turns: readonly Turn[], kind: number): number {
  return quantile(
    turns.map(({ honest }) => honest[kind]?.warm.p99 ?? Number.POSITIVE_INFINITY),
    0.5,
  );
}

function measuresOf(name: string, turns: readonly Turn[], calm: readonly Turn[]): Measure[] {
  return ["kept", "new"].map((connections, kind) => {
    const without = p99Of(calm, kind);
    return {
      name: `p99 of pushes on ${connections} connections, ${name}`,
      value: p99Of(turns, kind),
      unit: "ms",
      ...(turns !== calm && {
        goal: { is: "at most" as const, limit: 3 * without },
        beside: { name: "no attack", value: without },
      }),
      ...(kind === 0 && { note: noteOf(turns) }),
    };
  });
}

export const attack: Benchmark = {
  about: "p99 of honest pushes while 5,000 forged ones a second come: at most 3 times that without",
  run: (say) =>
    withEndpoint(JOBS, async (endpoint) => {
      await turn(endpoint, "none");
      const turns: Record<Way, Turn[]> = { none: [], "keep-alive": [], "connection-per-push": [] };
      for (let number = 1; number <= TURNS; number++) {
        for (const way of WAYS) {
          say(`turn ${number} of ${TURNS}, attack: ${way}`);
          turns[way].push(await turn(endpoint, way));
        }
      }
      return WAYS.flatMap((way) =>
        measuresOf(way === "none" ? "no attack" : `attack ${way}`, turns[way], turns.none)
      );
    }),
};
