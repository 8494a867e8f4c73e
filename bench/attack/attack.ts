/** `deno task bench attack`: honest pushes without an attacker, and beside one that has addresses of its own. */
import { runLoads } from "../generator/generator.ts";
import type { Load, LoadPlan } from "../generator/plan.ts";
import { cpuSeconds } from "../process_stats.ts";
import type { Benchmark, Measure } from "../result.ts";
import { attackAll } from "./all/all.ts";
import { runAttackers } from "./attackers.ts";
import { type Endpoint, withEndpoint } from "./endpoint.ts";
import { historyMeasures } from "./histories.ts";
import { atMostThrice, failures, idleAttacks, medianOf } from "./verdicts.ts";
import { webhookMeasures } from "./webhook.ts";

const JOBS = 64;
/** Pushes a second of the honest jobs: half over kept connections, half with a new one each. */
const HONEST_RATE = 200;
const FORGED_RATE = 5_000;
/** Each way takes its turn this often; what is shown is the median. */
const TURNS = 3;
const TURN_MS = 8_000;
const WARM_UP_MS = 2_000;
const HONEST_ADDRESSES = ["127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"];
const ATTACKERS = ["127.0.66.1", "127.0.66.2", "127.0.66.3", "127.0.66.4"];

/**
 * How the attacker comes: not at all, over kept connections, or with a new one for each push; or the
 * latter to a port that only accepts connections, which shows only the cost of the load on the machine.
 */
const WAYS = ["none", "keep-alive", "connection-per-push", "elsewhere"] as const;
type Way = typeof WAYS[number];
const NAMES: Readonly<Record<Way, string>> = {
  none: "no attack",
  "keep-alive": "attack on kept connections",
  "connection-per-push": "attack on new connections",
  elsewhere: "the same at another port",
};

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

async function runAttacker(
  { targets, caPem, elsewhere }: Endpoint,
  way: Exclude<Way, "none">,
): Promise<Load | undefined> {
  const [target] = targets;
  if (target === undefined) throw new Error("there is no job to attack");
  const plan: LoadPlan = {
    name: "attacker",
    mode: way === "keep-alive" ? way : "connection-per-push",
    targets: [way === "elsewhere" ? { ...target, url: `https://${elsewhere}/` } : target],
    caPem,
    connections: 256,
    rate: FORGED_RATE,
    durationMs: TURN_MS,
    sources: ATTACKERS,
    forged: { kind: "random-signature", differ: true },
  };
  const [load] = await runAttackers([plan]);
  return load;
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

/** The median over the turns of a quantile of one kind of honest connections. */
function quantileOf(turns: readonly Turn[], kind: number, part: "p50" | "p99"): number {
  return medianOf(turns.map(({ honest }) => honest[kind]), part);
}

function noteOf(turns: readonly Turn[]): string {
  const seconds = turns.length * TURN_MS / 1000;
  const of = (pick: (load: Load) => number) =>
    sum(turns, ({ honest }) => honest.reduce((total, load) => total + pick(load), 0));
  const medians = ["kept", "new"].map((_, kind) => quantileOf(turns, kind, "p50").toFixed(1));
  const parts = [
    `p50 ${medians.join(" and ")} ms`,
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

function measuresOf(way: Way, turns: readonly Turn[], calm: readonly Turn[]): Measure[] {
  const isAttack = way !== "none" && way !== "elsewhere";
  const latencies = ["kept", "new"].map((connections, kind) => {
    const without = quantileOf(calm, kind, "p99");
    return {
      name: `p99 of pushes on ${connections} connections, ${NAMES[way]}`,
      value: quantileOf(turns, kind, "p99"),
      unit: "ms",
      ...(way !== "none" && { beside: { name: NAMES.none, value: without } }),
      ...(isAttack && { goal: atMostThrice(without) }),
      ...(kind === 0 && { note: noteOf(turns) }),
    };
  });
  if (!isAttack) return latencies;
  const hostile = turns.map(({ attacker }) => ({ hostile: attacker ? [attacker] : [], held: [] }));
  return [
    ...latencies,
    failures(`honest pushes that failed, ${NAMES[way]}`, turns.flatMap(({ honest }) => honest)),
    { ...idleAttacks(hostile), name: `attacks that did not reach the manager, ${NAMES[way]}` },
  ];
}

/** Measures the API server's reviews beside attackers of the webhook port, with its address named. */
function measureNamed(): Promise<Measure[]> {
  return withEndpoint(
    1,
    (endpoint) => webhookMeasures(endpoint, { durationMs: TURN_MS, suffix: "address named" }),
    { flags: ["--api-server-addresses=127.0.0.1"] },
  );
}

/** Runs each attack by itself. */
async function attackEach(say: (text: string) => void): Promise<Measure[]> {
  const measures = await withEndpoint(JOBS, async (endpoint) => {
    await turn(endpoint, "none");
    const turns: Record<Way, Turn[]> = {
      none: [],
      "keep-alive": [],
      "connection-per-push": [],
      elsewhere: [],
    };
    for (let number = 1; number <= TURNS; number++) {
      for (const way of WAYS) {
        say(`turn ${number} of ${TURNS}: ${NAMES[way]}`);
        turns[way].push(await turn(endpoint, way));
      }
    }
    say("histories, and reviews of the API server");
    const [honest] = honestPlans(endpoint);
    return [
      ...WAYS.flatMap((way) => measuresOf(way, turns[way], turns.none)),
      ...(honest ? await historyMeasures(endpoint, honest, TURN_MS) : []),
      ...await webhookMeasures(endpoint, { durationMs: TURN_MS, suffix: "address not named" }),
    ];
  });
  return [...measures, ...await measureNamed()];
}

export const attack: Benchmark = {
  about:
    "p99 of honest pushes while 5,000 forged ones a second come: at most 3 times that without; " +
    "of the API server's reviews while four addresses attack the webhook: at most 1 s; " +
    "--all: every attack at once in 512 MiB",
  takesOptions: true,
  async run(say, options) {
    const wrong = options.filter((it) => it !== "--all");
    if (wrong.length > 0) throw new Error(`there is no option ${wrong.join(", ")}; known: --all`);
    return await (options.includes("--all") ? attackAll(say) : attackEach(say));
  },
};
