/** Connections that are opened and never go on, held by the load generator in a process of low priority. */
import { z } from "zod";
import { run } from "../../tests/support/command.ts";
import { buildGenerator } from "./generator.ts";

/** Connections of one kind. */
export interface Hold {
  readonly name: string;
  /** `host:port`. */
  readonly address: string;
  /** Loopback addresses that they come from, in turns. */
  readonly sources: readonly string[];
  /** At a time: one that the server closes is opened again. */
  readonly count: number;
  /** New connections a second. */
  readonly rate: number;
  readonly tls: boolean;
  readonly text: string;
  /** Letters `x` that are sent after the text. Default 0. */
  readonly more?: number;
}

const resultSchema = z.object({
  name: z.string(),
  opened: z.number(),
  /** Connections that could say all that they were to say. */
  said: z.number(),
  /** The most of them at a time. */
  most: z.number(),
  /** Answers by status. */
  answers: z.record(z.string(), z.number()),
});

/** What became of the connections of a hold. */
export type HoldResult = z.infer<typeof resultSchema>;

/** Holds connections for a time. */
export async function runHolds(holds: readonly Hold[], durationMs: number): Promise<HoldResult[]> {
  const { code, stdout, stderr } = await run("nice", {
    args: ["-n", "10", await buildGenerator(), "hold"],
    stdin: JSON.stringify({ durationMs, holds }),
    timeoutMs: durationMs + 60_000,
  });
  if (code !== 0) throw new Error(`the holder ended with ${code}: ${stderr.trim()}`);
  return z.array(resultSchema).parse(JSON.parse(stdout));
}
