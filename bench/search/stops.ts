/** Trials that push each second, while the pruner of their search stops some of them: one after another, then many at once. */
import { z } from "zod";
import { statusPath } from "../../crds/job_kind.ts";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import { KINDS } from "../../crds/kinds.ts";
import { ANNOTATIONS, LABELS, PUSH_AUDIENCE } from "../../crds/names.ts";
import { SEARCH_BOUNDS } from "../../crds/optimization_job.ts";
import { trialName } from "../../crds/trial_records.ts";
import { inParallel } from "../../platform/base/parallel.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { requestToken } from "../../tests/support/standalone.ts";
import { until } from "../../tests/support/until.ts";
import { optimizationJob } from "../../tests/trials/search/builders.ts";
import { type Endpoint, withEndpoint } from "../attack/endpoint.ts";
import { runLoad } from "../generator/generator.ts";
import type { Load, LoadTarget } from "../generator/plan.ts";
import { type Measure, quantile } from "../result.ts";
import { addresses } from "../status/turns.ts";

const namespace = "default";
/** The step of the lowest rung, to which a trial of one push a second does not come by itself. */
const RUNG = 1_000;
/** Only the best trial of a rung goes on. */
const PRUNER = JSON.stringify({ asha: { min_resource: RUNG, reduction_factor: 100 } });
/** Of the trials, those that are stopped one after another, and at once; the others push all the time. */
const [PACED, AT_ONCE] = [1 / 6, 1 / 2];
/** Pushes a second of the others, for each trial of all: as many as a thousand of 1,200 would push. */
const PUSHES = 1_000 / 1_200;
const STOPS_PER_SECOND = 10;
const STORM_MS = 20_000;
/** In it each trial pushes some times; each token is reviewed once. */
export const WARM_UP_MS = 15_000;
const GOALS = { answerMs: 500, stormSeconds: 15, honestMs: 250 } as const;

/** What all jobs of trials have, whoever makes them. */
export const BENCH_LABEL = { bench: "search" };

/** A trial, and where its pod pushes. */
interface Trial extends LoadTarget {
  readonly name: string;
}

/** Creates a search, whose controller makes its trials. Returns their names. */
async function createSearch(client: KubeClient, number: number, trials: number): Promise<string[]> {
  const { metadata } = await client.create(
    KINDS.optimizationJob,
    optimizationJob({
      name: `search-${number}`,
      metadata: { namespace, uid: undefined, annotations: { [ANNOTATIONS.pruner]: PRUNER } },
      parameters: ["lr uniform 0.1 1"],
      spec: { numTrials: trials, parallelTrials: trials },
      template: {
        metadata: { labels: BENCH_LABEL, annotations: { [ANNOTATIONS.trialTemplate]: "{}" } },
        spec: { runtimeRef: { name: "idle" } },
      },
    }),
  );
  const { name = "", uid = "" } = metadata;
  return Array.from({ length: trials }, (_, index) => trialName({ name, uid }, index));
}

/** Returns the trials of all searches, once each has a pod. */
export async function createTrials({ client, targets }: Endpoint, count: number): Promise<Trial[]> {
  const { origin } = new URL(targets[0]?.url ?? "");
  const names: string[] = [];
  for (let left = count, number = 0; left > 0; left -= SEARCH_BOUNDS.trials, number++) {
    names.push(...await createSearch(client, number, Math.min(left, SEARCH_BOUNDS.trials)));
  }
  const pods = await until("a pod of each trial", async () => {
    const { items } = await client.list(KINDS.pod, { namespace });
    const byJob = new Map(items.map((it) => [it.metadata?.labels?.[LABELS.trainJobName], it]));
    return names.every((it) => byJob.has(it)) ? byJob : undefined;
  }, { timeoutMs: 300_000, everyMs: 2_000 });
  const trials = new Map<string, Trial>();
  const errors = await inParallel(names, async (name) => {
    const { name: podName = "", uid = "" } = pods.get(name)?.metadata ?? {};
    const account = { namespace, name: "default" };
    const bound = { audience: PUSH_AUDIENCE, pod: { name: podName, uid } };
    const token = await requestToken(client, account, bound);
    trials.set(name, { name, url: `${origin}${statusPath(TRAINJOB, namespace, name)}`, token });
  }, { limit: 16 });
  if (errors.length > 0) throw errors[0];
  return names.flatMap((it) => trials.get(it) ?? []);
}

const bodyAtRung = (loss: number) =>
  JSON.stringify({
    trainerStatus: {
      metrics: [{ name: "loss", value: String(loss) }],
      step: RUNG,
      lastUpdatedTime: new Date().toISOString(),
    },
  });
const answer = z.looseObject({ control: z.looseObject({ stop: z.boolean() }).optional() });

/** Pushes a loss at the rung. Returns whether the answer stops the trial, and after how many milliseconds. */
async function decide(http: Deno.HttpClient, { url, token }: Trial, loss: number) {
  const began = performance.now();
  const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
  const body = bodyAtRung(loss);
  const response = await fetch(url, { client: http, method: "POST", headers, body });
  const { control } = answer.parse(await response.json());
  return { isStopped: control?.stop === true, ms: performance.now() - began };
}

/** Pushes of trials in their turns, so many a second; no report of them comes to a rung. */
export function pushAll(
  caPem: string,
  trials: readonly Trial[],
  { rate, durationMs }: { readonly rate: number; readonly durationMs: number },
): Promise<Load> {
  return runLoad({
    name: "trials",
    caPem,
    targets: trials.map(({ url, token }) => ({ url, ...(token !== undefined && { token }) })),
    connections: trials.length,
    sources: addresses(200),
    inOrder: true,
    rate,
    durationMs,
    // No two are alike: of two in a millisecond the second would be a retry.
    body: '{"trainerStatus":{"metrics":[{"name":"loss","value":"{{number}}"}],' +
      '"lastUpdatedTime":"{{now}}"}}',
  });
}

/** Resolves with the seconds after which all of these jobs are stopped. */
async function secondsUntilStopped(client: KubeClient, trials: readonly Trial[]): Promise<number> {
  const began = performance.now();
  await until("all are stopped", async () => {
    const { items } = await client.list(KINDS.trainJob, { namespace });
    const states = new Map(items.map((it) => [it.metadata.name, it.status?.state]));
    return trials.every(({ name }) => states.get(name) === "EarlyStopped") ? true : undefined;
  }, { timeoutMs: 120_000, everyMs: 500 });
  return (performance.now() - began) / 1000;
}

/** What deciding pushes were answered. */
type Decided = Awaited<ReturnType<typeof decide>>;
const p99 = (all: readonly Decided[]) => quantile(all.map(({ ms }) => ms), .99);
const unstopped = (all: readonly Decided[]) => all.filter((it) => !it.isStopped).length;

/** Returns what stops cost, of so many trials. */
export function measureStops(
  { trials: count, say }: { readonly trials: number; readonly say: (text: string) => void },
): Promise<Measure[]> {
  return withEndpoint(1, async (endpoint) => {
    const { client, caPem } = endpoint;
    const trials = await createTrials(endpoint, count);
    say(`${trials.length} trials have a pod; the first push of each`);
    await pushAll(caPem, trials, { rate: trials.length / 5, durationMs: WARM_UP_MS });
    using http = Deno.createHttpClient({ caCerts: [caPem], poolMaxIdlePerHost: 16 });
    const best = trials.filter((_, index) => index % SEARCH_BOUNDS.trials === 0);
    for (const trial of best) await decide(http, trial, .1);
    // Of each search some.
    const others = Array.from({ length: SEARCH_BOUNDS.trials }, (_, index) => index).slice(1)
      .flatMap((index) => trials.filter((_, it) => it % SEARCH_BOUNDS.trials === index));
    const paced = others.slice(0, count * PACED);
    const storm = others.slice(paced.length, paced.length + count * AT_ONCE);
    const honest = [...best, ...others.slice(paced.length + storm.length)];
    const rate = count * PUSHES;

    say("pushes without any stop");
    const without = await pushAll(caPem, honest, { rate, durationMs: WARM_UP_MS });
    const before = { name: "without any stop", value: without.warm.p99 };

    say(`${paced.length} stops, ${STOPS_PER_SECOND} a second`);
    const durationMs = paced.length / STOPS_PER_SECOND * 1_000;
    const beside = pushAll(caPem, honest, { rate, durationMs });
    const one = await Promise.all(paced.map(async (trial, index) => {
      await new Promise((resolve) => setTimeout(resolve, index / STOPS_PER_SECOND * 1_000));
      return await decide(http, trial, 9);
    }));
    const calm = await beside;

    say(`${storm.length} stops at once`);
    const stormBeside = pushAll(caPem, honest, { rate, durationMs: STORM_MS });
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    const [seconds, ...all] = await Promise.all([
      secondsUntilStopped(client, storm),
      ...storm.map((trial) => decide(http, trial, 9)),
    ]);
    const busy = await stormBeside;
    const refused = (load: Load) => load.sent - load.ok;
    return [
      {
        name: "search: p99 from a deciding push to control.stop in its answer",
        value: p99(one),
        unit: "ms",
        goal: { is: "at most", limit: GOALS.answerMs },
        beside: before,
        note:
          `${one.length} stops, ${STOPS_PER_SECOND} a second, beside ${
            rate.toFixed(0)
          } pushes a second ` +
          `of ${honest.length} other trials; p50 ${
            quantile(one.map(({ ms }) => ms), .5).toFixed(0)
          } ms; ` +
          `pushes beside them p99 ${calm.warm.p99} ms`,
      },
      {
        name: "search: deciding pushes whose answer does not stop",
        value: unstopped(one),
        unit: "",
        goal: { is: "at most", limit: 0 },
        note: `of the storm ${unstopped(all)} of ${all.length}, which later pushes are told`,
      },
      {
        name: "search: all of a storm of stops are written after",
        value: seconds,
        unit: "s",
        goal: { is: "at most", limit: GOALS.stormSeconds },
        note: `${storm.length} at once; their answers p50 ${
          quantile(all.map(({ ms }) => ms), .5).toFixed(0)
        } ms, p99 ${p99(all).toFixed(0)} ms`,
      },
      {
        name: "search: p99 of honest pushes meanwhile",
        value: busy.warm.p99,
        unit: "ms",
        goal: { is: "at most", limit: GOALS.honestMs },
        beside: before,
        note: `${busy.sent} pushes, p50 ${busy.warm.p50} ms; not taken: ${refused(busy)}, before ${
          refused(calm)
        }`,
      },
    ];
  }, { flags: ["--token-review-qps=200"] });
}
