/** Jobs that report without a pause, and the progress that their objects show after the owner has gone. */
import { KINDS } from "../../crds/kinds.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { createInformer } from "../../platform/kube/watching/informer.ts";
import { type Reporter, reporterOf } from "../cluster/support/pushing.ts";
import { until } from "./until.ts";

/** The metric that identifies a push. */
const COUNTER = "push";

/** A push that was answered with 200. */
interface Acknowledged {
  readonly push: number;
  readonly sentMs: number;
}

/** Jobs whose pods push. */
export interface Crowd {
  /** Pushes all the time, the job of each index to the URL that is given for it. */
  report(urlOf: (index: number) => string): void;
  /** Ends {@link Crowd.report}; resolves when everything sent is answered. */
  pause(): Promise<void>;
  /** Pushes once for every job, again and again until it is acknowledged. */
  pushOnce(url: string): Promise<void>;
  /** Every object shows what was acknowledged last. */
  allShown(): boolean;
  /** Number of values that the object of the job with the fewest has shown so far. */
  fewestShown(): number;
  /** Number of values that all objects have shown so far. */
  valuesShown(): number;
  /** The jobs whose object went back to an older value, by name. */
  wentBack(): string[];
  /** Acknowledged pushes that are not shown, nor newer ones, compared to a moment. */
  lossAt(atMs: number): Promise<Loss>;
  stop(): Promise<void>;
}

/** Acknowledged pushes that left no trace. */
export interface Loss {
  readonly jobs: number;
  readonly pushes: number;
  /** From the sending of the oldest of them to that moment, in milliseconds; 0 where there is none. */
  readonly longestMs: number;
}

function shownPush(job: TrainJob | undefined): number {
  const metrics = job?.status?.trainerStatus?.metrics ?? [];
  return Number(metrics.find(({ name }) => name === COUNTER)?.value ?? 0);
}

/** Remembers what each object shows, one value after the other. */
function record(client: KubeClient) {
  const stop = new AbortController();
  const shown = new Map<string, number[]>();
  const informer = createInformer({ client, kind: KINDS.trainJob, namespace: "default" });
  informer.onChange(({ object }) => {
    const { name = "" } = object.metadata;
    const values = shown.get(name) ?? [];
    const push = shownPush(object);
    if (push !== (values.at(-1) ?? 0)) values.push(push);
    shown.set(name, values);
  });
  const running = informer.run(stop.signal);
  return {
    valuesOf: (name: string): readonly number[] => shown.get(name) ?? [],
    async stop() {
      stop.abort();
      await running;
    },
  };
}

/** Gathers the pods of these TrainJobs, which exist. */
export async function startCrowd(client: KubeClient, names: readonly string[]): Promise<Crowd> {
  await using cleanup = new AsyncDisposableStack();
  const reporters: Reporter[] = [];
  for (const trainJob of names) {
    const reporter = await until(
      `a pod of ${trainJob} that reports`,
      () => reporterOf(client, { trainJob }),
      { timeoutMs: 60_000 },
    );
    reporters.push(cleanup.use(reporter));
  }
  const watched = record(client);
  cleanup.defer(() => watched.stop());
  const acknowledged = new Map<string, Acknowledged[]>(names.map((name) => [name, []]));
  let pushes = 0;
  let going = new AbortController();
  let loops: Promise<void>[] = [];

  async function push(name: string, reporter: Reporter, url: string): Promise<boolean> {
    pushes += 1;
    const own = pushes;
    const sentMs = performance.now();
    const code = await reporter.send(url, {
      progressPercentage: own % 100,
      metrics: [{ name: COUNTER, value: String(own) }],
      lastUpdatedTime: new Date().toISOString(),
    });
    if (code === 200) acknowledged.get(name)?.push({ push: own, sentMs });
    return code === 200;
  }

  async function keepPushing(name: string, reporter: Reporter, url: string, signal: AbortSignal) {
    while (!signal.aborted) {
      await push(name, reporter, url);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  const each = <T>(work: (name: string, reporter: Reporter, index: number) => T): T[] =>
    reporters.map((reporter, index) => work(names[index] ?? "", reporter, index));
  const lastOf = (name: string) => acknowledged.get(name)?.at(-1)?.push ?? 0;

  const pause = async () => {
    going.abort();
    await Promise.all(loops);
  };
  cleanup.defer(pause);
  const started = cleanup.move();
  return {
    pause,
    report(urlOf) {
      going = new AbortController();
      const { signal } = going;
      loops = each((name, reporter, index) => keepPushing(name, reporter, urlOf(index), signal));
    },
    async pushOnce(url) {
      await Promise.all(
        each((name, reporter) =>
          until(`a push for ${name} is accepted`, () => push(name, reporter, url), {
            timeoutMs: 60_000,
          })
        ),
      );
    },
    allShown: () => names.every((name) => watched.valuesOf(name).at(-1) === lastOf(name)),
    fewestShown: () => Math.min(...names.map((name) => watched.valuesOf(name).length)),
    valuesShown: () => names.reduce((sum, name) => sum + watched.valuesOf(name).length, 0),
    wentBack: () =>
      names.filter((name) => {
        const values = watched.valuesOf(name);
        return values.some((value, index) => value < (values[index - 1] ?? 0));
      }),
    async lossAt(atMs) {
      const lost = await Promise.all(names.map(async (name) => {
        const shown = shownPush(await client.get(KINDS.trainJob, { namespace: "default", name }));
        return acknowledged.get(name)?.filter(({ push }) => push > shown) ?? [];
      }));
      const all = lost.flat();
      return {
        jobs: lost.filter(({ length }) => length > 0).length,
        pushes: all.length,
        longestMs: Math.max(0, ...all.map(({ sentMs }) => atMs - sentMs)),
      };
    },
    stop: () => started.disposeAsync(),
  };
}
