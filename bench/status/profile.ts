/** CPU profiles of a Deno program, by its inspector's sampling profiler. */
import { z } from "zod";
import { until } from "../../tests/support/until.ts";

/** Time between two samples, in microseconds. */
const INTERVAL_US = 500;
const REPLY_MS = 30_000;

const profileSchema = z.looseObject({
  nodes: z.array(z.looseObject({
    id: z.number(),
    callFrame: z.looseObject({
      functionName: z.string(),
      url: z.string(),
      lineNumber: z.number(),
    }),
  })),
  samples: z.array(z.number()),
  timeDeltas: z.array(z.number()),
});
const replySchema = z.looseObject({ id: z.number().optional(), result: z.unknown() });
const targetsSchema = z.array(z.looseObject({ webSocketDebuggerUrl: z.string() }));

/** Shares of the sampled time. */
export interface Share {
  /** `function file:line`. */
  readonly where: string;
  /** From 0 to 1. */
  readonly part: number;
}

/** The functions in which most time was spent themselves, most first. Pure. */
export function hottest(value: unknown, count: number): Share[] {
  const { nodes, samples, timeDeltas } = profileSchema.parse(value);
  const names = new Map(nodes.map(({ id, callFrame: { functionName, url, lineNumber } }) => {
    const file = url.split("/").slice(-2).join("/");
    return [id, `${functionName || "(anonymous)"} ${file}:${lineNumber + 1}`];
  }));
  const spent = new Map<string, number>();
  let all = 0;
  samples.forEach((id, index) => {
    const time = timeDeltas[index] ?? 0;
    const where = names.get(id) ?? "";
    all += time;
    spent.set(where, (spent.get(where) ?? 0) + time);
  });
  return [...spent].sort(([, a], [, b]) => b - a).slice(0, count)
    .map(([where, time]) => ({ where, part: time / all }));
}

/** A connection to an inspector. */
export async function connectInspector(port: number) {
  const url = await until("the inspector", async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/json/list`);
    return targetsSchema.parse(await answer.json())[0]?.webSocketDebuggerUrl;
  });
  const socket = new WebSocket(url);
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = () => reject(new Error(`no inspector at ${url}`));
  });
  const waiting = new Map<number, (result: unknown) => void>();
  let last = 0;
  socket.onmessage = ({ data }) => {
    const { id, result } = replySchema.parse(JSON.parse(String(data)));
    if (id !== undefined) waiting.get(id)?.(result);
  };
  return {
    close: () => socket.close(),
    ask(method: string, params: unknown = {}): Promise<unknown> {
      const id = ++last;
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error(`${method}: no reply`)), REPLY_MS);
        waiting.set(id, (result) => {
          clearTimeout(timer);
          resolve(result);
        });
        socket.send(JSON.stringify({ id, method, params }));
      });
    },
  };
}

/** Profiles the program whose inspector is at `port` while `work` runs; the profile goes to `file`. */
export async function profiled<T>(
  port: number,
  file: string,
  work: () => Promise<T>,
): Promise<T> {
  const inspector = await connectInspector(port);
  try {
    await inspector.ask("Profiler.enable");
    await inspector.ask("Profiler.setSamplingInterval", { interval: INTERVAL_US });
    await inspector.ask("Profiler.start");
    const result = await work();
    const { profile } = z.object({ profile: z.unknown() }).parse(
      await inspector.ask("Profiler.stop"),
    );
    await Deno.writeTextFile(file, JSON.stringify(profile));
    return result;
  } finally {
    inspector.close();
  }
}
