/** Options of `deno task bench status`. Pure. */

/** The loads, each a row of the table. */
export const ROWS = ["keep-alive", "connections", "one-job", "many-jobs", "replicas"] as const;
export type RowName = typeof ROWS[number];

/** Who takes turns, in this order. */
export const SIDES = ["bare", "upstream as shipped", "upstream", "milepost"] as const;
export type SideName = typeof SIDES[number];

/** How long and how large loads are. */
export interface Sizes {
  /** Turns of each side. */
  readonly rounds: number;
  /** Of one load, in milliseconds, and of the same load before it, of which no number is taken. */
  readonly durationMs: number;
  readonly warmUpMs: number;
  /** The large cluster: jobs, pushes offered a second, for how long, and when it counts as warm. */
  readonly many: {
    readonly jobs: number;
    readonly rate: number;
    readonly durationMs: number;
    readonly warmUpMs: number;
  };
}

const FULL: Sizes = {
  rounds: 2,
  durationMs: 10_000,
  warmUpMs: 4_000,
  many: { jobs: 10_000, rate: 2_000, durationMs: 60_000, warmUpMs: 15_000 },
};

/** For trials: its numbers say little. */
const SHORT: Sizes = {
  rounds: 1,
  durationMs: 4_000,
  warmUpMs: 2_000,
  many: { jobs: 500, rate: 200, durationMs: 8_000, warmUpMs: 4_000 },
};

/** Options of a run. */
export interface StatusOptions {
  readonly rows: readonly RowName[];
  readonly sizes: Sizes;
  /** Who takes turns. */
  readonly sides: readonly SideName[];
  /** Whether Milepost runs from its source instead of the bundle, as for a profile. */
  readonly fromSource: boolean;
  /** V8's flags for the bundle, in place of those that are shipped. */
  readonly v8Flags?: string;
  /** Folder for profiles of Milepost, one a load; without it nothing is profiled. */
  readonly profiles?: string;
}

function oneOf<T extends string>(flag: string, all: readonly T[]): (name: string) => T {
  return (name) => {
    const found = all.find((it) => it === name);
    if (found === undefined) throw new Error(`${flag} ${name}: must be one of ${all.join(", ")}`);
    return found;
  };
}

const FLAGS =
  "--only ROW,…, --sides SIDE,…, --short, --jobs N, --source, --v8-flags FLAG,… and --profile FOLDER";

function jobsOf(text: string): number {
  const jobs = Number(text);
  if (Number.isInteger(jobs) && jobs > 0) return jobs;
  throw new Error(`--jobs ${text}: must be a whole number above 0`);
}

/** Reads the options; a profile is one of the source. Throws with what is wrong. */
export function readOptions(args: readonly string[]): StatusOptions {
  let options: StatusOptions = { rows: ROWS, sides: SIDES, sizes: FULL, fromSource: false };
  let jobs: number | undefined;
  const rest = [...args];
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    const [flag = "", ...parts] = word.split("=");
    const value = () => parts.length > 0 ? parts.join("=") : rest.shift() ?? "";
    if (flag === "--only") {
      options = { ...options, rows: value().split(",").map(oneOf(flag, ROWS)) };
    } else if (flag === "--sides") {
      options = { ...options, sides: value().split(",").map(oneOf(flag, SIDES)) };
    } else if (flag === "--profile") {
      options = { ...options, fromSource: true, profiles: value() };
    } else if (flag === "--v8-flags") options = { ...options, v8Flags: `--v8-flags=${value()}` };
    else if (flag === "--short") options = { ...options, sizes: SHORT };
    else if (flag === "--source") options = { ...options, fromSource: true };
    else if (flag === "--jobs") jobs = jobsOf(value());
    else throw new Error(`${word}: there are ${FLAGS}`);
  }
  const { sizes } = options;
  return jobs === undefined
    ? options
    : { ...options, sizes: { ...sizes, many: { ...sizes.many, jobs } } };
}
