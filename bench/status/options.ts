/** What `deno task bench status` can be told. Pure. */

/** The loads, each a row of the table. */
export const ROWS = ["keep-alive", "connections", "one-job", "many-jobs", "replicas"] as const;
export type RowName = typeof ROWS[number];

/** How long and how large loads are. */
export interface Sizes {
  /** Turns of each side. */
  readonly rounds: number;
  /** Of one load, in milliseconds; of it no number is taken for the first `warmUpMs`. */
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
  durationMs: 12_000,
  warmUpMs: 2_000,
  many: { jobs: 10_000, rate: 2_000, durationMs: 60_000, warmUpMs: 15_000 },
};

/** For trials: its numbers say little. */
const SHORT: Sizes = {
  rounds: 1,
  durationMs: 4_000,
  warmUpMs: 1_000,
  many: { jobs: 500, rate: 200, durationMs: 8_000, warmUpMs: 4_000 },
};

/** Options of a run. */
export interface StatusOptions {
  readonly rows: readonly RowName[];
  readonly sizes: Sizes;
  /** Whether Milepost runs from its source instead of the bundle, as for a profile. */
  readonly fromSource: boolean;
}

function rowOf(name: string): RowName {
  const found = ROWS.find((it) => it === name);
  if (found === undefined) throw new Error(`--only ${name}: must be one of ${ROWS.join(", ")}`);
  return found;
}

/**
 * Reads `--only ROW[,ROW…]`, `--short`, `--jobs N` (of the large cluster) and `--source`. Throws
 * with what is wrong.
 */
export function readOptions(args: readonly string[]): StatusOptions {
  let rows: readonly RowName[] = ROWS;
  let sizes = FULL;
  let fromSource = false;
  let jobs: number | undefined;
  const rest = [...args];
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    const [flag, given] = word.split("=", 2);
    const value = () => given ?? rest.shift() ?? "";
    if (flag === "--only") rows = value().split(",").map(rowOf);
    else if (flag === "--short") sizes = SHORT;
    else if (flag === "--source") fromSource = true;
    else if (flag === "--jobs") jobs = Number(value());
    else throw new Error(`${word}: there are --only ROW, --short, --jobs N and --source`);
  }
  if (jobs !== undefined && !(Number.isInteger(jobs) && jobs > 0)) {
    throw new Error("--jobs: must be a whole number above 0");
  }
  return {
    rows,
    fromSource,
    sizes: jobs === undefined ? sizes : { ...sizes, many: { ...sizes.many, jobs } },
  };
}
