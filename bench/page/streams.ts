/** `deno task bench streams`: what streams of many lists of 10,000 jobs take of the core that pushes need. */
import { V8_FLAGS } from "../../build/bundle.ts";
import { VIEW_LIMITS } from "../../crds/wire/view_limits.ts";
import { run } from "../../tests/support/command.ts";
import { type Benchmark, type Measure, quantile } from "../result.ts";
import { type StreamsTaken, streamsTakenSchema } from "./streams_taken.ts";

const PROGRAM = new URL("streams_process.ts", import.meta.url).pathname;
/** Twenty streams, of as few users as may have them. */
const [STREAMS, USERS] = [5, 4];
const PAIRS = 3;

async function taken(streams: number, users: number): Promise<StreamsTaken> {
  const { code, stdout, stderr } = await run(Deno.execPath(), {
    args: ["run", "-A", "--no-check", V8_FLAGS, PROGRAM, String(streams), String(users)],
    timeoutMs: 120_000,
  });
  if (code !== 0) throw new Error(`the process failed:\n${stderr}`);
  return streamsTakenSchema.parse(JSON.parse(stdout));
}

export const streams: Benchmark = {
  about: "streams of 16 lists each over 10,000 jobs that change: what they take of a core",
  async run(say): Promise<Measure[]> {
    const pairs: (readonly [StreamsTaken, StreamsTaken])[] = [];
    for (let pair = 1; pair <= PAIRS; pair++) {
      say(`pair ${pair} of ${PAIRS}: a process with the streams, and one without`);
      pairs.push([await taken(STREAMS, USERS), await taken(0, 1)]);
    }
    const median = (read: (looking: StreamsTaken, idle: StreamsTaken) => number) =>
      quantile(pairs.map((pair) => read(...pair)), 0.5);
    return [
      {
        name: `${STREAMS * USERS} streams of ${VIEW_LIMITS.lists} lists each`,
        value: median((looking, idle) => looking.cores - idle.cores),
        unit: "cores",
        goal: { is: "at most", limit: 0.1 },
        note: "beyond those of a process in which nobody looks; median of the pairs",
      },
      {
        name: "a list of another user beside them, p99",
        value: median((looking) => quantile(looking.readMs, 0.99)),
        unit: "ms",
        goal: { is: "below", limit: 1_000 },
        beside: { name: "without", value: median((_, idle) => quantile(idle.readMs, 0.99)) },
      },
      { name: "events of all streams", value: median(({ events }) => events), unit: "/s" },
    ];
  },
};
