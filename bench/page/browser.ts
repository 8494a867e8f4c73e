/** `deno task bench pixel`: what a viewer of the page waits for, in Chromium. */
import { z } from "zod";
import { KINDS } from "../../crds/kinds.ts";
import { createClient } from "../../platform/kube/connection/connected_client.ts";
import { loadKubeconfig } from "../../platform/kube/connection/kubeconfig.ts";
import { type Browser, browser } from "../../tests/browser/chromium.ts";
import { startFakeUiServer } from "../../tests/browser/fake_ui_server.ts";
import { runInBrowser } from "../../tests/browser/in_browser.ts";
import type { StandaloneProcess } from "../../tests/support/milepost_process.ts";
import { JOB, pusher, runningJob } from "../push.ts";
import { type Benchmark, type Measure, quantile } from "../result.ts";
import { inFolder, withStandaloneIn } from "../standalone_folder.ts";

const JOBS = 10_000;
const [SIGHTS, LEAST_PAUSE_MS, PAUSES_MS] = [40, 200, 2_000];
const LIST = "#/jobs";
const DETAIL = `#/job/trainjobs.trainer.kubeflow.org/${JOB.namespace}/${JOB.name}`;
const VIEWS = [
  { at: LIST, selector: ".jobs .metrics .number", pattern: "^(\\d+)$" },
  { at: DETAIL, selector: '#content [aria-label^="loss. "]', pattern: ": (\\d+) last" },
];
const sightsSchema = z.record(z.string(), z.array(z.object({ value: z.number(), ms: z.number() })));
const loadSchema = z.object({ paintMs: z.number(), rowsMs: z.number() });
const framesSchema = z.object({
  plain: z.array(loadSchema),
  slow: z.array(loadSchema),
  frames: z.array(z.number()),
});

async function answerOf(found: Browser, program: string, input: Record<string, unknown>) {
  const script = new URL(program, import.meta.url);
  const { code, stdout, stderr } = await runInBrowser(script, {
    found,
    input,
    timeoutMs: 200_000,
  });
  if (code !== 0) throw new Error(`${program} failed: ${stderr}`);
  return JSON.parse(stdout);
}

/** Pushes a number that grows, at random moments, until all is seen. Returns the times of each view. */
async function pixels(found: Browser, standalone: StandaloneProcess) {
  const client = createClient({ connection: loadKubeconfig(standalone.ready.kubeconfig) });
  const pushed: { value: number; ms: number }[] = [];
  try {
    using training = await pusher(client, standalone, await runningJob(client));
    let isOver = false;
    const pushing = (async () => {
      for (let value = 1; !isOver; value++) {
        const pauseMs = LEAST_PAUSE_MS + Math.random() * PAUSES_MS;
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
        pushed.push({ value, ms: Date.now() });
        await training.push(value % 100, [{ name: "loss", value: String(value) }]);
      }
    })();
    const input = { address: standalone.ready.ui, views: VIEWS, sights: SIGHTS };
    const answer = answerOf(found, "pixel.mjs", input).finally(() => isOver = true);
    const sights = sightsSchema.parse(await answer);
    await pushing;
    await client.delete(KINDS.trainJob, JOB);
    return VIEWS.map(({ at }) => {
      // What is there when a tab opens was no push to be waited for.
      const [opened, ...seen] = sights[at] ?? [];
      return pushed.flatMap(({ value, ms }) => {
        const sight = seen.find((it) => it.value >= value);
        return sight === undefined || ms < (opened?.ms ?? 0) ? [] : [sight.ms - ms];
      });
    });
  } finally {
    client.close();
  }
}

const atMost = (limit: number) => ({ is: "at most", limit }) as const;

export const pixel: Benchmark = {
  about: "the page in Chromium: push to pixel, first rows and paints, and frames",
  async run(say): Promise<Measure[]> {
    const found = await browser();
    if ("missing" in found) throw new Error(`there is no browser: ${found.missing}`);
    say("pushes to a standalone, at random moments");
    const [list = [], detail = []] = await inFolder((folder) =>
      withStandaloneIn(folder, (standalone) => pixels(found, standalone))
    );
    say(`the list of ${JOBS} jobs of a fake server, 50 of which change twice a second`);
    await using server = startFakeUiServer({ jobs: JOBS, changing: 50 });
    const input = { address: server.address, loads: 7, watchMs: 10_000 };
    const { plain, slow, frames } = framesSchema.parse(
      await answerOf(found, "frames.mjs", input),
    );
    const median = (all: readonly number[]) => quantile(all, 0.5);
    const waits = (name: string, all: readonly number[]): Measure[] => [
      { name: `${name}, median of ${all.length}`, value: median(all), unit: "ms" },
      { name: `${name}, p95`, value: quantile(all, 0.95), unit: "ms", goal: atMost(1_000) },
    ];
    return [
      ...waits("push to pixel, list", list),
      ...waits("push to pixel, curves", detail),
      {
        name: "10,000 jobs: navigation to first rows painted",
        value: median(plain.map(({ rowsMs }) => rowsMs)),
        unit: "ms",
        goal: atMost(500),
      },
      {
        name: "first paint, processor throttled fourfold",
        value: median(slow.map(({ paintMs }) => paintMs)),
        unit: "ms",
        goal: atMost(1_000),
      },
      {
        name: "first rows painted, processor throttled fourfold",
        value: median(slow.map(({ rowsMs }) => rowsMs)),
        unit: "ms",
      },
      {
        name: "main thread a frame, 100 changing rows a second, p95",
        value: quantile(frames, 0.95),
        unit: "ms",
        goal: atMost(8),
        note: `of ${frames.length} frames with work in 10 s; the longest took ${
          Math.max(...frames).toFixed(1)
        } ms`,
      },
    ];
  },
};
