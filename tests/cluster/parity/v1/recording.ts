/** Recorded outcomes of cases: the first step whole, each further one as a merge patch of the one before. */
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { applyMergePatch } from "../../../../standalone/apiserver/objects/json_patch.ts";
import { type Fields, isFields } from "../comparable.ts";

/** Outcomes by case, one for each step. */
export type Outcomes = Readonly<Record<string, readonly Fields[]>>;

/** Outcomes, and the programs whose they are. */
export interface Recording {
  /** Such as `github.com/kubeflow/training-operator v1.9.3`. */
  readonly peers: readonly string[];
  readonly outcomes: Outcomes;
}

const recordingSchema = z.object({
  peers: z.array(z.string()),
  cases: z.record(z.string(), z.array(z.record(z.string(), z.unknown()))),
});

/** Name of the recording of the Training Operator. */
export const V1_RECORDING = "training_operator";

const folder = new URL("../../../peers/recordings/", import.meta.url);

/** Returns the merge patch that makes `after` of `before`; neither has a null in it. */
export function mergePatchOf(before: Fields, after: Fields): Fields {
  const gone = Object.keys(before).filter((key) => !(key in after));
  const changed = Object.entries(after).filter(([key, value]) =>
    !isDeepStrictEqual(before[key], value)
  );
  return Object.fromEntries([
    ...gone.map((key) => [key, null] as const),
    ...changed.map(([key, value]) => {
      const former = before[key];
      const nested = isFields(former) && isFields(value);
      return [key, nested ? mergePatchOf(former, value) : value] as const;
    }),
  ]);
}

function asPatches(outcomes: readonly Fields[]): Fields[] {
  return outcomes.map((outcome, step) => mergePatchOf(outcomes[step - 1] ?? {}, outcome));
}

function fromPatches(patches: readonly Fields[]): Fields[] {
  const outcomes: Fields[] = [];
  for (const patch of patches) {
    const outcome = applyMergePatch(outcomes.at(-1) ?? {}, patch);
    outcomes.push(isFields(outcome) ? outcome : {});
  }
  return outcomes;
}

/** Reads a recording. */
export async function readRecording(name: string): Promise<Recording> {
  const text = await Deno.readTextFile(new URL(`${name}.json`, folder));
  const { peers, cases } = recordingSchema.parse(JSON.parse(text));
  const outcomes = Object.entries(cases).map(([says, patches]) => [says, fromPatches(patches)]);
  return { peers, outcomes: Object.fromEntries(outcomes) };
}

/** Writes a recording. */
export async function writeRecording(name: string, { peers, outcomes }: Recording): Promise<void> {
  const cases = Object.entries(outcomes).map(([says, steps]) => [says, asPatches(steps)]);
  const text = JSON.stringify({ peers, cases: Object.fromEntries(cases) }, null, 1);
  await Deno.writeTextFile(new URL(`${name}.json`, folder), `${text}\n`);
}
