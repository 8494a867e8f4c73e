/** All cases about v1 jobs, by what is compared of them. */
import { z } from "zod";
import type { CaseTable } from "../case.ts";
import { EVERY_KIND } from "../cases/v1/every_kind.ts";
import { OBJECTS } from "../cases/v1/objects.ts";
import { OTHER_KINDS } from "../cases/v1/other_kinds.ts";
import { REFUSALS } from "../cases/v1/refusals.ts";
import { TENSORFLOW } from "../cases/v1/tensorflow.ts";
import type { Fields } from "../comparable.ts";
import type { Observation, Run } from "../perform.ts";
import { livesOf, objectsMade } from "./outcome.ts";
import type { Outcomes } from "./recording.ts";

/** Cases that are compared by the status of jobs, the phases of pods, and events. */
const LIVES: CaseTable = { ...EVERY_KIND, ...TENSORFLOW, ...OTHER_KINDS, ...REFUSALS };

/** All of them. No two have the same sentence. */
export const V1_CASES: CaseTable = { ...LIVES, ...OBJECTS };

/** Whether a case is about MXJobs, which another version of the operator runs. */
export const isOfMx = (says: string): boolean => says.startsWith("MXJob:");

/** The namespace of a case, which its number gives it. */
const NAMESPACE = /case-\d{3}/g;

/** A text without the namespace. */
const anywhere = (_key: string, value: unknown) =>
  typeof value === "string" ? value.replace(NAMESPACE, "ns") : value;

function outcomeOf(says: string, observations: readonly Observation[]): Fields[] {
  const outcomes = says in OBJECTS ? objectsMade(observations) : livesOf(observations);
  return z.array(z.record(z.string(), z.unknown())).parse(
    JSON.parse(JSON.stringify(outcomes, anywhere)),
  );
}

/** Returns the comparable outcomes of a run. */
export function outcomesOf(run: Run): Outcomes {
  const sorted = Object.keys(V1_CASES).filter((says) => says in run);
  return Object.fromEntries(sorted.map((says) => [says, outcomeOf(says, run[says] ?? [])]));
}
