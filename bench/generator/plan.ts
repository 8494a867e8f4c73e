/** Input and output of the load generator. Pure. */
import { z } from "zod";

/** Target of the pushes of a job. */
export interface LoadTarget {
  /** `https://host:port/path`. */
  readonly url: string;
  readonly token?: string;
  /** Over that of the plan. */
  readonly caFile?: string;
}

/** One stream of pushes. Times are milliseconds. */
export interface LoadPlan {
  readonly name: string;
  readonly targets: readonly LoadTarget[];
  /** The CA of all targets, as a file or as its PEM. */
  readonly caFile?: string;
  readonly caPem?: string;
  /** Name that certificates must have. Default: the host of the URL. */
  readonly serverName?: string;
  /** Pushes under way at a time; with keep-alive, connections. */
  readonly connections: number;
  /** Default `keep-alive`. */
  readonly mode?: "keep-alive" | "connection-per-push";
  /** Whether TLS sessions are resumed. Default false. */
  readonly resumption?: boolean;
  readonly startAfterMs?: number;
  /** It ends after this time, or after `count` pushes: at least one of them is needed. */
  readonly durationMs?: number;
  readonly count?: number;
  /** Pushes meant for an earlier time have no part in `warm` of the result. */
  readonly warmUpMs?: number;
  /** Pushes offered a second, independent of the answers; without it each waits for the one before. */
  readonly rate?: number;
  /** Loopback addresses (127.0.0.0/8) that connections come from, in turns. */
  readonly sources?: readonly string[];
  /** For each push, with its connection. Default 5000. */
  readonly timeoutMs?: number;
  /** Default POST. */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Template: `{{percentage}}` (0 to 99), `{{remaining}}`, `{{value}}`, `{{now}}` (RFC 3339) and
   * `{{number}}` are filled in for each push. Default: a whole trainerStatus.
   */
  readonly body?: string;
  /** Tokens that are made up, after the first target's; each its own (`differ`) or one repeated. */
  readonly forged?: {
    readonly kind: "unsigned" | "garbage" | "random-signature" | "other-key";
    readonly differ: boolean;
  };
  /**
   * How often a push is sent at most, the same each time: again after a 503 or no answer, when
   * Retry-After has passed. Default 1.
   */
  readonly attempts?: number;
  /**
   * Whether the pushes of each target follow each other, each after the answer to the one before. There
   * are as many connections as targets then.
   */
  readonly inOrder?: boolean;
  /** Whether `outcomes` of the result has the outcome of each push. */
  readonly outcomes?: boolean;
}

const latencies = z.object({
  count: z.number(),
  p50: z.number(),
  p90: z.number(),
  p99: z.number(),
  max: z.number(),
  /** Upper bounds in milliseconds, and how many lie between one and the one before. */
  histogram: z.array(z.tuple([z.number(), z.number()])),
});

const loadSchema = z.object({
  name: z.string(),
  /** Pushes that were begun; of an offered rate, those for which no connection was free in time. */
  sent: z.number(),
  unsent: z.number(),
  answers: z.number(),
  /** Answers below 300. */
  ok: z.number(),
  byStatus: z.record(z.string(), z.number()),
  /** Pushes without an answer, by kind: timeout, refused, reset, closed, tls, other. */
  errors: z.record(z.string(), z.number()),
  timeouts: z.number(),
  /** 429, 503, and connections that were refused, reset or closed without an answer. */
  refused: z.number(),
  seconds: z.number(),
  /** Successes a second within the duration. */
  rate: z.number(),
  handshakes: z.number(),
  resumed: z.number(),
  /** Kept connections that the server had closed, each replaced once. */
  reconnects: z.number(),
  /** Milliseconds from the intended time to the answer, or to the time-out. */
  latency: latencies,
  /** The same for pushes that were due after the warm-up. */
  warm: latencies,
  warmOk: z.number(),
  /** At most 5 texts of failures. */
  examples: z.array(z.string()),
  /** Pushes that were sent once more; each attempt counts as an answer or an error. */
  again: z.number(),
  /** Answers of 503 without Retry-After. */
  withoutReturn: z.number(),
  /** A character for each push by its number: `+` taken, `-` not taken, `.` not sent. */
  outcomes: z.string().default(""),
});

const resultSchema = z.object({
  results: z.array(loadSchema),
  /** Of the generator itself. */
  cpuSeconds: z.number(),
  maxRssMb: z.number(),
});

/** Result of a plan. */
export type Load = z.infer<typeof loadSchema>;
/** Results of all plans of a run. */
export type LoadResult = z.infer<typeof resultSchema>;

/** Parses the generator's output. Throws if it cannot be parsed. */
export function parseLoad(text: string): LoadResult {
  return resultSchema.parse(JSON.parse(text));
}
