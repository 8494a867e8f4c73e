/** `deno task bench attack --all`: every attack at once, beside honest pushes and reviews, in 512 MiB; then those of the page. */
import { KINDS } from "../../../crds/kinds.ts";
import { runLoads } from "../../generator/generator.ts";
import { type HoldResult, runHolds } from "../../generator/holds.ts";
import type { Load, LoadPlan, LoadTarget } from "../../generator/plan.ts";
import { streams } from "../../page/streams.ts";
import { cpuSeconds, peakRssMb } from "../../process_stats.ts";
import type { Measure } from "../../result.ts";
import { shippedProgram } from "../../status/sides.ts";
import { runAttackers } from "../attackers.ts";
import { createTargets, type Endpoint, withEndpoint } from "../endpoint.ts";
import { hostileHistories } from "../histories.ts";
import { atMostThrice, failures, idleAttacks, medianOf, tally } from "../verdicts.ts";
import { honestReviews, hostileReviews } from "../webhook.ts";
import { API_SERVER, PODS } from "./addresses.ts";
import { hostileConnections } from "./hostile_connections.ts";
import { createConfigMaps, writeConfigMaps } from "./hostile_config_maps.ts";
import { createHostileCounts, hostileCounts } from "./hostile_counts.ts";
import { visitorMeasures } from "./hostile_visitors.ts";
import { limitMemory } from "./limited_memory.ts";
import { createReaderAccounts, honestReads, hostileReads, type ReaderTokens } from "./readers.ts";

const LIMIT_BYTES = 512 << 20;
const LIMIT_MB = LIMIT_BYTES / (1 << 20);
const JOBS = 64;
const TURNS = 3;
const TURN_MS = 20_000;
const WARM_UP_MS = 3_000;
const PUSHES = 200;
const WRITE_EVERY_MS = 250;
/** Namespaces of attackers: each service account has one. */
const HOSTILE = "tenant-a";
const TENANTS = [HOSTILE, "tenant-b"];

const READS = "reads";
/** Loads of the honest, in the order of {@link honestPlans}. */
const HONEST = ["pushes on kept connections", "pushes on new connections", "reviews", READS];

/** Who takes part, besides the pods of the endpoint's jobs. */
interface Parties {
  /** The jobs of an attacker, who has a namespace of his own; each has a pod. */
  readonly tenants: readonly LoadTarget[];
  readonly readers: ReaderTokens;
}

function honestPlans(endpoint: Endpoint, { readers }: Parties): LoadPlan[] {
  const { targets, caPem } = endpoint;
  const half = targets.length / 2;
  const common = { caPem, durationMs: TURN_MS, warmUpMs: WARM_UP_MS };
  const pushes = { ...common, connections: half, rate: PUSHES / 2, sources: PODS };
  return [
    { ...pushes, name: "kept", mode: "keep-alive", targets: targets.slice(0, half) },
    { ...pushes, name: "new", mode: "connection-per-push", targets: targets.slice(half) },
    { ...honestReviews(endpoint, TURN_MS), warmUpMs: WARM_UP_MS },
    { ...honestReads(endpoint, readers, TURN_MS), warmUpMs: WARM_UP_MS },
  ];
}

interface Turn {
  readonly honest: readonly Load[];
  readonly hostile: readonly Load[];
  readonly held: readonly HoldResult[];
  readonly managerSeconds: number;
}

async function tenantTargets({ client, ports }: Endpoint): Promise<LoadTarget[]> {
  const base = `https://127.0.0.1:${ports.status}`;
  const all: LoadTarget[] = [];
  for (const name of TENANTS) {
    await client.create(KINDS.namespace, { metadata: { name } });
    all.push(...await createTargets(client, { base, namespace: name, count: 2 }));
  }
  await createConfigMaps(client, HOSTILE);
  await createHostileCounts(client, HOSTILE);
  return all;
}

async function attackOnce(endpoint: Endpoint, { tenants, readers }: Parties) {
  const over = new AbortController();
  const writing = writeConfigMaps(endpoint.client, {
    namespace: HOSTILE,
    everyMs: WRITE_EVERY_MS,
  }, over.signal);
  // Its failure is thrown at the end: one that nobody waits for would end the process, and leave the group.
  writing.catch(() => {});
  try {
    const [hostile, held] = await Promise.all([
      runAttackers([
        ...hostileReviews(endpoint, TURN_MS),
        ...hostileCounts(endpoint, TURN_MS),
        hostileHistories({ ...endpoint, targets: tenants }, TURN_MS),
        hostileReads(endpoint, readers, TURN_MS),
      ]),
      runHolds(hostileConnections(endpoint, tenants), TURN_MS),
    ]);
    return { hostile, held };
  } finally {
    over.abort();
    await writing;
  }
}

async function turn(endpoint: Endpoint, parties: Parties, isAttacked = false): Promise<Turn> {
  const before = await cpuSeconds(endpoint.pid);
  const [{ results: honest }, attacked] = await Promise.all([
    runLoads(honestPlans(endpoint, parties)),
    isAttacked ? attackOnce(endpoint, parties) : undefined,
  ]);
  const managerSeconds = await cpuSeconds(endpoint.pid) - before;
  const { hostile = [], held = [] } = attacked ?? {};
  return { honest, hostile, held, managerSeconds };
}

const p99Of = (turns: readonly Turn[], kind: number) =>
  medianOf(turns.map(({ honest }) => honest[kind]), "p99");

/** What each attack met in all turns. */
function metBy(turns: readonly Turn[]): string {
  const texts: string[] = [];
  for (const { name } of turns[0]?.hostile ?? []) {
    const loads = turns.flatMap(({ hostile }) => hostile.filter((it) => it.name === name));
    texts.push(`${name}: ${tally(loads.flatMap(({ byStatus, errors }) => [byStatus, errors]))}`);
  }
  for (const { name } of turns[0]?.held ?? []) {
    const holds = turns.flatMap(({ held }) => held.filter((it) => it.name === name));
    const most = Math.max(...holds.map((it) => it.most));
    const opened = holds.reduce((sum, it) => sum + it.opened, 0);
    texts.push(`${name}: ${most} of ${opened} at a time, ${tally(holds.map((it) => it.answers))}`);
  }
  return texts.join("; ");
}

const cores = (turns: readonly Turn[]) =>
  turns.reduce((sum, it) => sum + it.managerSeconds, 0) / (turns.length * TURN_MS / 1000);

/** Runs the turns and returns their rows. */
async function measure(
  endpoint: Endpoint,
  keptBy: string,
  say: (text: string) => void,
): Promise<Measure[]> {
  const parties = {
    tenants: await tenantTargets(endpoint),
    readers: await createReaderAccounts(endpoint),
  };
  await turn(endpoint, parties);
  const quiet: Turn[] = [];
  const attacked: Turn[] = [];
  for (let number = 1; number <= TURNS; number++) {
    say(`turn ${number} of ${TURNS}`);
    quiet.push(await turn(endpoint, parties));
    attacked.push(await turn(endpoint, parties, true));
  }
  const kinds = HONEST.map((_, kind) => kind);
  return [
    ...kinds.map((kind) =>
      failures(
        `honest ${HONEST[kind]} that failed under attack`,
        attacked.map(({ honest }) => honest[kind]),
      )
    ),
    idleAttacks(attacked),
    ...kinds.map((kind): Measure => {
      const without = p99Of(quiet, kind);
      return {
        name: `p99 of honest ${HONEST[kind]} under attack`,
        value: p99Of(attacked, kind),
        unit: "ms",
        beside: { name: "quiet", value: without },
        goal: HONEST[kind] === READS ? { is: "below", limit: 1_000 } : atMostThrice(without),
      };
    }),
    {
      name: "most memory of the manager",
      value: await peakRssMb(endpoint.pid),
      unit: "MB",
      goal: { is: "below", limit: LIMIT_MB },
      note:
        `RSS; the limit is kept by ${keptBy}; cores of the manager: ${cores(quiet).toFixed(2)} ` +
        `quiet, ${cores(attacked).toFixed(2)} attacked; ${metBy(attacked)}`,
    },
  ];
}

/** Runs every attack at once. */
export async function attackAll(say: (text: string) => void): Promise<Measure[]> {
  await using cleanup = new AsyncDisposableStack();
  const folder = await Deno.makeTempDir();
  cleanup.defer(() => Deno.remove(folder, { recursive: true }));
  const limited = await limitMemory(LIMIT_BYTES);
  cleanup.defer(limited.remove);
  const shipped = await shippedProgram(folder);
  const program = [...limited.wrapper, Deno.execPath(), ...shipped];
  const flags = [...limited.flags, `--api-server-addresses=${API_SERVER}`];
  const measures = await withEndpoint(JOBS, (endpoint) => measure(endpoint, limited.by, say), {
    program,
    flags,
  });
  return [
    ...measures,
    ...await visitorMeasures(folder, [Deno.execPath(), ...shipped], say),
    ...await streams.run(say, []),
  ];
}
