/** Naming of the pods of a stall: again some heartbeats later, when more is known, and only so often. */
import type { JobStall } from "../../crds/job_stall.ts";
import { sameJson } from "../../platform/base/json.ts";

/** How often the pods of one stall may be named, and how long after the last look, in milliseconds. */
const [NAMED_MOST, NAMED_MS] = [6, 5_000];
/** Least time between two notes of one stall, in milliseconds. */
const NOTE_MS = 60_000;

/** How often the pods of a stall were named, and what was noted beside. */
export interface StallNaming {
  times: number;
  dueMs: number;
  note: string | undefined;
  noteDueMs: number;
  /** Those that an owner before this one has named, who may not be heard any more. */
  readonly before?: JobStall["pods"];
}

/** The naming of a stall that is told now. */
export const firstNaming = (note: string | undefined, nowMs: number): StallNaming => ({
  times: 1,
  dueMs: nowMs,
  note,
  noteDueMs: nowMs,
});

/** The naming of a stall that an owner before this one has told. */
export const takenNaming = ({ pods: before }: JobStall, nowMs: number): StallNaming => ({
  ...firstNaming(undefined, nowMs),
  dueMs: nowMs + NAMED_MS,
  before,
});

/** What a stall says of its pods, but for when they were heard. */
const namesOf = (stall: JobStall | undefined) =>
  stall?.pods?.map((it) => ({ ...it, lastHeard: undefined }));

/** Returns the stall as it is to be told now, and keeps that it was; undefined: as it was told before. */
export function namedAgain(
  naming: StallNaming,
  told: JobStall | undefined,
  { note, nowMs, stallNow }: {
    readonly note: string | undefined;
    readonly nowMs: number;
    readonly stallNow: () => JobStall;
  },
): JobStall | undefined {
  if (nowMs < naming.dueMs) return undefined;
  const isNoted = note !== naming.note && nowMs >= naming.noteDueMs;
  if (!isNoted && naming.times >= NAMED_MOST) return undefined;
  naming.dueMs = nowMs + NAMED_MS;
  const now = stallNow();
  const next = now.pods || !naming.before ? now : { ...now, pods: naming.before };
  const isNamed = naming.times < NAMED_MOST && !sameJson(namesOf(next), namesOf(told));
  if (!isNoted && !isNamed) return undefined;
  if (isNamed) naming.times += 1;
  if (isNoted) naming.noteDueMs = nowMs + NOTE_MS;
  naming.note = note;
  return next;
}
