/** `deno task bench page`: the curves of 10,000 jobs that are kept for the page. */
import { run } from "../../tests/support/command.ts";
import { V8_FLAGS } from "../../build/bundle.ts";
import { type Benchmark, type Measure, quantile } from "../result.ts";
import { type CurvesTaken, curvesTakenSchema } from "./curves.ts";

const PROGRAM = new URL("curves.ts", import.meta.url).pathname;
const MB = 1 << 20;
/** Pairs of processes, one that records and one that does not. */
const PAIRS = 5;

async function taken(...args: string[]): Promise<CurvesTaken> {
  const { code, stdout, stderr } = await run(Deno.execPath(), {
    args: ["run", "-A", "--no-check", V8_FLAGS, PROGRAM, ...args],
    timeoutMs: 5 * 60_000,
  });
  if (code !== 0) throw new Error(`the process failed:\n${stderr}`);
  return curvesTakenSchema.parse(JSON.parse(stdout));
}

export const page: Benchmark = {
  about: "the curves that are kept for the page: 10,000 jobs with 4 metrics and progress",
  async run(say): Promise<Measure[]> {
    const pairs: (readonly [CurvesTaken, CurvesTaken])[] = [];
    for (let pair = 1; pair <= PAIRS; pair++) {
      say(`pair ${pair} of ${PAIRS}: a process that records the curves, and one that does not`);
      pairs.push([await taken(), await taken("idle")]);
    }
    const median = (read: (recording: CurvesTaken, idle: CurvesTaken) => number) =>
      quantile(pairs.map((pair) => read(...pair)), 0.5);
    const atMost = (limit: number) => ({ is: "at most", limit }) as const;
    return [
      { name: "jobs whose curves are whole", value: median((it) => it.complete), unit: "" },
      {
        name: "curves kept: growth of RSS",
        value: median((it, idle) => it.rssBytes - idle.rssBytes) / MB,
        unit: "MiB",
        goal: atMost(64),
        note: "beyond that of a process that makes the same pushes and records none",
      },
      {
        name: "curves kept: heap and buffers after a collection",
        value: median((it, idle) => it.liveBytes - idle.liveBytes) / MB,
        unit: "MiB",
        goal: atMost(64),
        beside: { name: "as the store counts", value: median((it) => it.countedBytes) / MB },
      },
      {
        name: "curves of 100 jobs are read, p99",
        value: median((it) => it.readMs),
        unit: "ms",
        goal: atMost(50),
      },
      { name: "their JSON", value: median((it) => it.answerBytes) / MB, unit: "MiB" },
      {
        name: "pushes of five values recorded",
        value: median((it) => it.pushesPerSecond),
        unit: "/s",
      },
      {
        name: "one of them, the longest",
        value: median((it) => it.longestMs),
        unit: "ms",
        note: "it waits for a collection of garbage",
      },
    ];
  },
};
