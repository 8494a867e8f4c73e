/** Lives of made-up training jobs: what they report, when they hang, and what else happens to them, from a seed. Pure. */
import type { Phase } from "../../crds/job_stall.ts";
import type { Sample } from "../../crds/wire/sample.ts";

/** What happens to a job, at a time in milliseconds. */
export type Act =
  & { readonly atMs: number }
  & (
    | { readonly kind: "report"; readonly sample: Sample }
    /** A pod begins to run, or all of the job's are gone. */
    | { readonly kind: "pod"; readonly uid: string | undefined }
    | { readonly kind: "state"; readonly state: "Running" | "Suspended" | "Complete" }
    /** It makes no step from now on, after an hour of slow steps or without one; and when somebody has ended that. */
    | { readonly kind: "hangs"; readonly isSlow: boolean }
    | { readonly kind: "freed" }
  );

/** How programs report. */
export type Program = "phases" | "epochs" | "plain" | "short";

/** Something that happens to a run: for how long it is away, or hangs. */
interface Trouble {
  readonly atMs: number;
  readonly kind: "hang" | "preempted" | "suspended" | "slow";
  readonly forMs: number;
}

/** Numbers from 0 up to 1 from a seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Options of {@link lifeOf}. */
export interface LifeOptions {
  readonly program: Program;
  readonly random: () => number;
  readonly endMs: number;
  /** When it hangs, if it does; for an hour, or until it ends. */
  readonly hangMs: number | undefined;
}

/** The habits of a program. */
function habitsOf({ program, random }: LifeOptions) {
  const between = (least: number, most: number) => least + random() * (most - least);
  const stepMs = between(0.2, 3) * SECOND;
  return {
    between,
    stepMs,
    /** Steps of one report. */
    perReport: Math.max(1, Math.round(between(2, program === "phases" ? 3 : 40) * SECOND / stepMs)),
    warmUpMs: random() < 0.2 ? between(5, 20) * MINUTE : between(5, 90) * SECOND,
    /** From one evaluation to the next; the first one may be an hour away. */
    evaluationEveryMs: between(10, 90) * MINUTE,
    evaluationMs: between(20, 300) * SECOND,
    checkpointEveryMs: between(10, 30) * MINUTE,
    checkpointMs: between(2, 60) * SECOND,
  };
}

function troublesOf({ program, random, endMs, hangMs }: LifeOptions): Trouble[] {
  const troubles: Trouble[] = hangMs === undefined
    ? []
    : [{ atMs: hangMs, kind: "hang", forMs: HOUR }];
  if (program === "short") return troubles;
  const add = (chance: number, kind: Trouble["kind"], least: number, most: number) => {
    if (random() >= chance) return;
    const forMs = least + random() * (most - least);
    troubles.push({ atMs: random() * endMs, kind, forMs });
  };
  add(0.3, "preempted", MINUTE, 15 * MINUTE);
  add(0.2, "suspended", 10 * MINUTE, 3 * HOUR);
  add(0.3, "slow", 10 * MINUTE, HOUR);
  return troubles.toSorted((one, other) => one.atMs - other.atMs);
}

const sampleOf = (fields: Partial<Sample> & { readonly loss: number }): Sample => {
  const { loss, metrics = [], ...others } = fields;
  const all = [{ name: "loss", value: String(loss) }, ...metrics];
  return { lastUpdatedTime: "2026-01-01T00:00:00Z", metrics: all, ...others };
};

/** A job of half a minute, again and again under other names. */
function* shortLife({ random, endMs, hangMs }: LifeOptions): Generator<Act> {
  const startMs = random() * endMs;
  yield { atMs: startMs, kind: "state", state: "Running" };
  yield { atMs: startMs, kind: "pod", uid: "pod-0" };
  for (let second = 0; second <= 30; second += 2) {
    const atMs = startMs + second * SECOND;
    if (hangMs !== undefined && second >= 20) {
      yield { atMs, kind: "hangs", isSlow: false };
      return;
    }
    const progressPercentage = Math.round(second / 30 * 100);
    const sample = sampleOf({ step: second, loss: random(), progressPercentage });
    yield { atMs, kind: "report", sample };
  }
  yield { atMs: startMs + 31 * SECOND, kind: "state", state: "Complete" };
}

/** Tells the life of a job, in the order of time. */
export function* lifeOf(options: LifeOptions): Generator<Act> {
  const { program, random, endMs } = options;
  if (program === "short") return yield* shortLife(options);
  const habits = habitsOf(options);
  const { between, stepMs, perReport } = habits;
  const troubles = troublesOf(options);
  let [atMs, step, pods, slowUntilMs, factor] = [between(0, HOUR), 0, 0, 0, 1];
  const stepsOfEpoch = Math.round(habits.evaluationEveryMs / stepMs);
  const says = program === "phases";

  function report(phase: Phase, more: Partial<Sample> = {}): Act {
    const epoch = { name: "epoch", value: (step / stepsOfEpoch).toFixed(2) };
    return {
      atMs,
      kind: "report",
      sample: sampleOf({
        ...(says && { phase }),
        ...(program === "epochs" ? { metrics: [epoch] } : { step }),
        loss: random(),
        ...more,
      }),
    };
  }

  /** A program that says nothing of it is only silent. */
  function* pause(phase: Phase, ms: number): Generator<Act> {
    if (says) yield report(phase);
    atMs += ms * between(0.7, 1.3);
  }

  yield { atMs, kind: "state", state: "Running" };
  while (atMs < endMs) {
    yield { atMs, kind: "pod", uid: `pod-${pods++}` };
    yield report("Starting");
    atMs += habits.warmUpMs * between(0.8, 1.2);
    let evaluatedMs = atMs;
    let savedMs = atMs;
    while (atMs < endMs) {
      yield report("Training");
      const [trouble] = troubles;
      if (trouble !== undefined && trouble.atMs <= atMs) {
        troubles.shift();
        if (trouble.kind === "slow") {
          slowUntilMs = atMs + trouble.forMs;
          continue;
        }
        if (trouble.kind === "hang") yield { atMs, kind: "hangs", isSlow: slowUntilMs > 0 };
        if (trouble.kind === "suspended") yield { atMs, kind: "state", state: "Suspended" };
        if (trouble.kind !== "hang") yield { atMs, kind: "pod", uid: undefined };
        atMs += trouble.forMs;
        if (trouble.kind === "hang") yield { atMs, kind: "freed" };
        if (trouble.kind === "hang") yield { atMs, kind: "pod", uid: undefined };
        if (trouble.kind === "suspended") yield { atMs, kind: "state", state: "Running" };
        // It goes on from a checkpoint.
        step = Math.max(0, step - 500);
        break;
      }
      // Slower by a half with each report, up to tenfold, and at once as before.
      factor = atMs < slowUntilMs ? Math.min(10, factor * 1.5) : 1;
      const hiccup = random() < 0.01 ? between(1, 3) : 1;
      const steps = factor > 1 ? 1 : perReport;
      atMs += steps * stepMs * factor * hiccup * between(0.9, 1.1);
      step += steps;
      if (atMs - savedMs >= habits.checkpointEveryMs) {
        yield* pause("Checkpointing", habits.checkpointMs);
        savedMs = atMs;
      }
      const isEpoch = program === "epochs"
        ? Math.floor(step / stepsOfEpoch) > Math.floor((step - steps) / stepsOfEpoch)
        : atMs - evaluatedMs >= habits.evaluationEveryMs;
      if (isEpoch) {
        yield* pause("Evaluating", habits.evaluationMs);
        evaluatedMs = atMs;
      }
    }
  }
  // The last checkpoint comes after 100 %.
  yield report("Checkpointing", { progressPercentage: 100 });
}
