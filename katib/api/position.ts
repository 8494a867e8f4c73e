/** Position in a log, stable while the log grows, for whichever replica reads on. Pure. */
import type { Position } from "../../crds/wire/observation.ts";
import { sortableTime } from "../../trials/recording/row_time.ts";
import { microsOf, timeOf } from "../../trials/recording/micros.ts";

/** Text of a position in `continue`: microseconds since 1970, and rows. */
export const POSITION_PATTERN = "^-?[0-9]{1,18}\\.[0-9]{1,9}$";
const POSITION = new RegExp(POSITION_PATTERN);

/** Most rows of one time: of one push there are as many as it may have metrics. */
const MAX_SEEN = 10_000;
/** First and last microsecond that RFC 3339 can write. */
const FIRST = -62_167_219_200_000_000n;
const LAST = 253_402_300_799_999_999n;

/** A position as clients see it; they make nothing of it. */
export function positionText({ time, seen }: Position): string {
  const micros = microsOf(time);
  if (micros === undefined) throw new RangeError(`"${time}" is not an RFC 3339 time`);
  return `${micros}.${seen}`;
}

/** Parses a position; undefined if the text is not one. Any number is a place in the log, if only its end. */
export function positionOf(text: string): Position | undefined {
  if (!POSITION.test(text)) return undefined;
  const [micros = "0", seen = "0"] = text.split(".");
  const at = BigInt(micros);
  const time = sortableTime(timeOf(at < FIRST ? FIRST : at > LAST ? LAST : at));
  return time === undefined ? undefined : { time, seen: Math.min(Number(seen), MAX_SEEN) };
}

/** The later of two positions. */
export function laterOf(one: Position, other: Position | undefined): Position {
  if (other === undefined || one.time > other.time) return one;
  if (other.time > one.time) return other;
  return one.seen >= other.seen ? one : other;
}
