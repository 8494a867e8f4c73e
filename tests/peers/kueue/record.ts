/** The recording of Kueue's writes, compared with the one that tests without Kueue replay. */
import assert from "node:assert/strict";
import { KUEUE, KUEUE_USER, MUTATING } from "../support/kueue.ts";
import type { Peer } from "../support/peer.ts";
import {
  readRecording,
  recordedWrites,
  type Recording,
  withoutChanging,
  writeRecording,
} from "../support/recording.ts";
import { plainRuntime, stagedRuntime } from "./objects.ts";
import type { KueueWorld } from "./world.ts";

/** Name of the file in `tests/peers/recordings/`. */
export const RECORDING = "kueue";

/** What each recorded TrainJob shows, and its runtime. */
const RECORDED = {
  "first": { shows: "admitted and finished", runtime: plainRuntime("plain") },
  "low": { shows: "evicted, and readmitted with another flavor", runtime: plainRuntime("plain") },
  "placed": { shows: "placed by a topology", runtime: plainRuntime("plain") },
  "staged": { shows: "with two replicated jobs", runtime: stagedRuntime("staged") },
} as const;

/** Writes the recording if MILEPOST_RECORD is set; else asserts that Kueue still writes the same. */
export async function checkRecording({ plane }: KueueWorld, { version }: Peer): Promise<void> {
  const events = await plane.auditLog();
  const jobs = Object.entries(RECORDED).map(([name, { shows, runtime }]) => [shows, {
    runtime: withoutChanging(runtime),
    writes: recordedWrites(events, name, { user: KUEUE_USER, configuration: MUTATING }),
  }]);
  const recording: Recording = {
    peer: `${KUEUE.goModule} ${version}`,
    jobs: Object.fromEntries(jobs),
  };
  if (Deno.env.get("MILEPOST_RECORD")) return await writeRecording(RECORDING, recording);
  const told = "Kueue writes something else than was recorded: MILEPOST_RECORD=1 records it anew";
  assert.deepEqual(recording, await readRecording(RECORDING), told);
}
