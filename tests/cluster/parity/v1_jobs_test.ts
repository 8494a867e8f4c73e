/** Parity of the v1 kinds with the Training Operator, as it is recorded. */
import assert from "node:assert/strict";
import { describe, judge } from "./compare.ts";
import { ALLOWED_V1 } from "./v1/allowed.ts";
import { outcomesOf, V1_CASES } from "./v1/cases.ts";
import { compareOutcomes } from "./v1/compare.ts";
import { OWN_CASES, OWN_ENDS, type OwnEnd, ownEnd } from "./v1/own_ends.ts";
import { readRecording, V1_RECORDING } from "./v1/recording.ts";
import { performOnMilepost } from "./v1/side.ts";

/** Cases at a time: all of them, and those in doubt. */
const AT_ONCE = { all: 24, inDoubt: 12 } as const;

const { outcomes: recorded, peers } = await readRecording(V1_RECORDING);

/** How the cases of {@link OWN_CASES} ended, as they were performed last. */
const ends = new Map<string, OwnEnd>();

async function findingsOf(cases: typeof V1_CASES, atOnce: number) {
  const outcomes = outcomesOf(await performOnMilepost(cases, atOnce));
  for (const says of OWN_CASES.filter((it) => it in cases)) {
    ends.set(says, ownEnd(outcomes, says));
  }
  return compareOutcomes(recorded, outcomes);
}

/** The cases that did not end as they should, where upstream says nothing of it. */
const strayed = (says: readonly string[]) =>
  says.filter((it) => String(ends.get(it)) !== String(OWN_ENDS[it]));

Deno.test(`Milepost does what is recorded of ${peers.join(" and ")}, except for the listed differences (${Object.keys(V1_CASES).length} cases)`, async () => {
  assert.deepEqual(Object.keys(recorded), Object.keys(V1_CASES), "not recorded: see tests/peers/");
  const findings = await findingsOf(V1_CASES, AT_ONCE.all);
  const { unexpected: first } = judge(findings, ALLOWED_V1);
  const doubtful = new Set([...first.map(({ says }) => says), ...strayed(OWN_CASES)]);
  const again = Object.entries(V1_CASES).filter(([says]) => doubtful.has(says));
  const settled = findings.filter(({ says }) => !doubtful.has(says));
  const findingsAgain = again.length === 0
    ? []
    : await findingsOf(Object.fromEntries(again), AT_ONCE.inDoubt);
  const { unexpected, unused } = judge([...settled, ...findingsAgain], ALLOWED_V1);
  assert.equal(unexpected.length, 0, unexpected.map(describe).join("\n"));
  assert.deepEqual(unused, [], "listed, but not different any more");
  assert.deepEqual(Object.fromEntries(ends), OWN_ENDS);
});
