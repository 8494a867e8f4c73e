/** Benchmark of heartbeats: `deno task bench beats`, 10,000 processes of 1,250 pods that say where they are, beside pushes of other jobs. */
import { statusPath } from "../../crds/job_kind.ts";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import { KINDS } from "../../crds/kinds.ts";
import { LABELS, PUSH_AUDIENCE } from "../../crds/names.ts";
import { inParallel } from "../../platform/base/parallel.ts";
import { requestToken, trainJob } from "../../tests/support/standalone.ts";
import { until } from "../../tests/support/until.ts";
import { type Endpoint, withEndpoint } from "../attack/endpoint.ts";
import { runLoads } from "../generator/generator.ts";
import type { Load, LoadPlan, LoadTarget } from "../generator/plan.ts";
import { cpuSeconds, rssMb } from "../process_stats.ts";
import { type Benchmark, type Measure, quantile } from "../result.ts";
import { addresses } from "../status/turns.ts";

const NAMESPACE = "default";
const LARGE = "large";
const [PODS, RANKS_OF_POD, EVERY_SECONDS] = [1_250, 8, 10];
const [PUSHING_JOBS, PUSHES_PER_SECOND] = [200, 1_000];
/** Of one turn, in which every pod sends two heartbeats, and how many pairs of turns there are. */
const [TURN_MS, WARM_UP_MS, PAIRS] = [20_000, 4_000, 5];

/** The processes of a pod, at a step that is another in each heartbeat. */
const BEAT = JSON.stringify({
  heartbeat: {
    ranks: Array.from(
      { length: RANKS_OF_POD },
      (_, rank) => [rank, "{{number}}", 0.4, "train.py:88"],
    ),
  },
}).replaceAll('"{{number}}"', "{{number}}");

/** A job of so many pods, which nothing runs, and their tokens. */
async function largeJob({ client, targets }: Endpoint): Promise<LoadTarget[]> {
  const spec = { trainer: { numNodes: PODS } };
  await client.create(KINDS.trainJob, trainJob(LARGE, "idle", { spec }));
  const labelSelector = `${LABELS.trainJobName}=${LARGE}`;
  const pods = await until("all pods", async () => {
    const { items } = await client.list(KINDS.pod, { namespace: NAMESPACE, labelSelector });
    return items.length === PODS ? items : undefined;
  }, { timeoutMs: 300_000, everyMs: 1_000 });
  const { origin } = new URL(targets[0]?.url ?? "");
  const url = `${origin}${statusPath(TRAINJOB, NAMESPACE, LARGE)}`;
  const made: LoadTarget[] = [];
  const account = { namespace: NAMESPACE, name: "default" };
  const errors = await inParallel(pods, async ({ metadata }) => {
    const { name = "", uid = "" } = metadata ?? {};
    const pod = { name, uid };
    made.push({
      url,
      token: await requestToken(client, account, { audience: PUSH_AUDIENCE, pod }),
    });
  }, { limit: 16 });
  if (errors.length > 0) throw errors[0];
  return made;
}

/** One turn: the pushes, and what the large job's pods do beside them, over connections that they keep. */
interface Turn {
  readonly pushes: Load;
  readonly beside: Load | undefined;
  readonly seconds: number;
  readonly rss: number;
}

/**
 * What pods do: `asked` is a read over the same connections, of which the owner keeps nothing; in a `flood` one of them sends
 * heartbeats as fast as they are answered.
 */
type Way = "none" | "asked" | "beats" | "flood";
type Pair = Readonly<Record<Exclude<Way, "flood">, Turn>>;

async function turn(endpoint: Endpoint, pods: readonly LoadTarget[], way: Way): Promise<Turn> {
  const { caPem, targets, pid } = endpoint;
  const common = { caPem, durationMs: TURN_MS, warmUpMs: WARM_UP_MS };
  const plans: LoadPlan[] = [{
    ...common,
    name: "pushes",
    targets,
    connections: PUSHING_JOBS,
    rate: PUSHES_PER_SECOND,
    sources: addresses(PUSHING_JOBS),
  }];
  if (way === "flood") {
    const [one] = pods;
    plans.push({ ...common, name: way, targets: one ? [one] : [], connections: 16, body: BEAT });
  } else if (way !== "none") {
    plans.push({
      ...common,
      name: way,
      targets: pods,
      connections: PODS,
      inOrder: true,
      rate: PODS / EVERY_SECONDS,
      sources: addresses(200),
      ...(way === "beats" ? { body: BEAT } : { method: "GET", body: "" }),
    });
  }
  const before = await cpuSeconds(pid);
  const { results: [pushes, beside] } = await runLoads(plans);
  if (pushes === undefined) throw new Error("the generator answered nothing");
  return { pushes, beside, seconds: await cpuSeconds(pid) - before, rss: await rssMb(pid) };
}

const medianOf = (values: readonly number[]) => quantile(values, 0.5);

function measuresOf(pairs: readonly Pair[], flood: Turn): Measure[] {
  const of = (pick: (turn: Turn) => number, way: keyof Pair) =>
    medianOf(pairs.map((it) => pick(it[way])));
  const slower = (pick: (load: Load) => number) =>
    medianOf(pairs.map(({ asked, beats }) => pick(beats.pushes) / pick(asked.pushes) - 1)) * 100;
  const beats = pairs.flatMap(({ beats: { beside } }) => beside ? [beside] : []);
  const sum = (pick: (load: Load) => number) => beats.reduce((all, it) => all + pick(it), 0);
  const beside = {
    name: "reads over the same connections",
    value: of((it) => it.pushes.warm.p50, "asked"),
  };
  const alone = of((it) => it.pushes.warm.p50, "none");
  const pairsText = (pick: (turn: Turn) => number) =>
    pairs.map((it) => `${pick(it.asked).toFixed(1)} and ${pick(it.beats).toFixed(1)}`).join(", ");
  return [
    {
      name: "pushes beside heartbeats, p50",
      value: of((it) => it.pushes.warm.p50, "beats"),
      unit: "ms",
      beside,
      note: `without either ${alone.toFixed(2)} ms; p99 ${
        pairsText((it) => it.pushes.warm.p99)
      } ms`,
    },
    {
      name: "pushes are slower, median of pairs",
      value: slower((it) => it.warm.p50),
      unit: "%",
      goal: { is: "at most", limit: 5 },
    },
    {
      name: "manager's processor, beside heartbeats",
      value: of((it) => it.seconds / TURN_MS * 100_000, "beats"),
      unit: "%",
      beside: { ...beside, value: of((it) => it.seconds / TURN_MS * 100_000, "asked") },
    },
    {
      name: "memory for them, beyond connections",
      value: of((it) => it.rss, "beats") - of((it) => it.rss, "asked"),
      unit: "MB",
      goal: { is: "at most", limit: 40 },
      note: `resident after each pair of turns: ${pairsText((it) => it.rss)} MB`,
    },
    {
      name: "heartbeats taken",
      value: sum((it) => it.ok),
      unit: `of ${sum((it) => it.sent)}`,
      note: `${PODS} pods of ${RANKS_OF_POD} processes, each ${EVERY_SECONDS} s`,
    },
    {
      name: "heartbeats taken of a pod that sends as many as it can",
      value: flood.beside?.ok ?? 0,
      unit: `of ${flood.beside?.sent ?? 0}`,
      note: `answers ${JSON.stringify(flood.beside?.byStatus)}; pushes of others beside it p50 ` +
        `${flood.pushes.warm.p50} ms, p99 ${flood.pushes.warm.p99} ms, ${flood.pushes.ok} of ` +
        `${flood.pushes.sent} taken; ${flood.rss.toFixed(0)} MB resident after it`,
    },
  ];
}

export const beats: Benchmark = {
  about: "10,000 processes of 1,250 pods that say where they are, beside 1,000 pushes a second",
  run: (say) =>
    withEndpoint(PUSHING_JOBS, async (endpoint) => {
      const pods = await largeJob(endpoint);
      say(`${pods.length} pods`);
      await turn(endpoint, pods, "asked");
      const pairs: Pair[] = [];
      for (let number = 1; number <= PAIRS; number++) {
        const none = await turn(endpoint, pods, "none");
        const asked = await turn(endpoint, pods, "asked");
        const beats = await turn(endpoint, pods, "beats");
        pairs.push({ none, asked, beats });
        for (const [way, it] of Object.entries({ none, asked, beats })) {
          const { pushes, beside, seconds, rss } = it;
          const met = JSON.stringify([pushes.byStatus, beside?.byStatus, beside?.errors]);
          say(
            `pair ${number}, ${way}: p50 ${pushes.warm.p50} p99 ${pushes.warm.p99} ms, ` +
              `${seconds.toFixed(1)} s of a core, ${rss.toFixed(0)} MB; ${met}`,
          );
        }
      }
      say("a flood");
      return measuresOf(pairs, await turn(endpoint, pods, "flood"));
    }),
};
