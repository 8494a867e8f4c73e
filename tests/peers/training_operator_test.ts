/** The Training Operator itself does what is recorded of it, which tests without it hold Milepost against. */
import assert from "node:assert/strict";
import { describe, type Finding, judge } from "../cluster/parity/compare.ts";
import { ALLOWED_V1 } from "../cluster/parity/v1/allowed.ts";
import { outcomesOf, V1_CASES } from "../cluster/parity/v1/cases.ts";
import { compareOutcomes } from "../cluster/parity/v1/compare.ts";
import {
  readRecording,
  type Recording,
  V1_RECORDING,
  writeRecording,
} from "../cluster/parity/v1/recording.ts";
import { findPeer, type Peer } from "./support/peer.ts";
import { TRAINING_OPERATOR, TRAINING_OPERATOR_MX } from "./training_operator/operator.ts";
import { performOnTrainingOperator } from "./training_operator/side.ts";

/** Cases at a time; those that differ are performed again with more time for each. */
const AT_ONCE = { all: 16, again: 2 } as const;

const [current, withMx] = [
  await findPeer(TRAINING_OPERATOR),
  await findPeer(TRAINING_OPERATOR_MX),
];
const name = `the Training Operator ${current.version}, and ${withMx.version} for MXJobs, ` +
  `does what is recorded (${Object.keys(V1_CASES).length} cases)`;

/** What a run does that was not recorded, but for what upstream does by chance. */
function unrecorded(recorded: Recording, outcomes: Recording["outcomes"]): readonly Finding[] {
  const byChance = ALLOWED_V1.filter((one) => one.byChance);
  return judge(compareOutcomes(recorded.outcomes, outcomes), byChance).unexpected;
}

/** The cases of some findings. */
function casesOf(findings: readonly Finding[]): typeof V1_CASES {
  const said = new Set(findings.map(({ says }) => says));
  return Object.fromEntries(Object.entries(V1_CASES).filter(([says]) => said.has(says)));
}

/**
 * Performs all cases; writes the recording if MILEPOST_RECORD is set, else compares with it. What differs once is
 * the time that a busy machine took: a case differs if it does so again.
 */
async function check(versions: { readonly current: Peer; readonly withMx: Peer }): Promise<void> {
  const peers = [versions.current, versions.withMx]
    .map(({ version }) => `${TRAINING_OPERATOR.goModule} ${version}`);
  const outcomes = outcomesOf(await performOnTrainingOperator(versions, V1_CASES, AT_ONCE.all));
  const recording: Recording = { peers, outcomes };
  if (Deno.env.get("MILEPOST_RECORD")) return await writeRecording(V1_RECORDING, recording);
  const recorded = await readRecording(V1_RECORDING);
  assert.deepEqual(recorded.peers, peers);
  const again = casesOf(unrecorded(recorded, outcomes));
  const unexpected = unrecorded(
    recorded,
    outcomesOf(await performOnTrainingOperator(versions, again, AT_ONCE.again)),
  );
  const told = "it does something else than was recorded: MILEPOST_RECORD=1 records it anew";
  assert.equal(unexpected.length, 0, `${told}\n${unexpected.map(describe).join("\n")}`);
}

if ("peer" in current && "peer" in withMx) {
  Deno.test(name, () => check({ current: current.peer, withMx: withMx.peer }));
} else {
  const [reason] = [current, withMx].flatMap((one) => "reason" in one ? [one.reason] : []);
  Deno.test({ name: `${name} (skipped: ${reason})`, ignore: true, fn() {} });
}
