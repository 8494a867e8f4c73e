/** Long answers in memory, which slow readers keep there: within a budget of bytes that no single reader can use up. */
import { createFairShare } from "../../platform/http/limits/fair_share.ts";
import type { HttpResponse } from "../../platform/http/message.ts";
import { OverloadedError } from "../../platform/http/message.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { answerInTime } from "../../platform/base/deadline.ts";

/** Characters that are written at a time. */
const PART = 65_536;
/** Bytes of a character, at most. */
const CHARACTER_BYTES = 2;

/** The reader did not take a long answer in time: it is cut, lest a part be taken for the whole. */
class LateReaderError extends Error {
  constructor(writeMs: number) {
    super(`the reader did not take the answer within ${writeMs} ms: ask for less, or read faster`);
    this.name = "LateReaderError";
  }
}

/**
 * Creates a function that returns the answer, whose bytes are counted until its visitor has taken them. It throws if
 * there is no room.
 */
export function createHeldAnswers(clock: Pick<Clock, "sleep">, limits: {
  /** Of all long answers together. */
  readonly bytes: number;
  /** An answer of up to so many is not counted: connections bound their number. */
  readonly smallBytes: number;
  /** How long the reader of a long one may take, in milliseconds. */
  readonly writeMs: number;
}) {
  const { smallBytes, writeMs } = limits;
  const share = createFairShare(limits.bytes);
  return (visitor: string, answer: HttpResponse): HttpResponse => {
    const { body, stream } = answer;
    const bytes = CHARACTER_BYTES * body.length;
    if (stream !== undefined || bytes <= smallBytes) return answer;
    if (!share.take(visitor, bytes)) throw new OverloadedError();
    return {
      ...answer,
      body: "",
      async stream(sink) {
        const isOver = (late: AbortSignal) => late.aborted || sink.signal.aborted;
        try {
          const outcome = await answerInTime(clock, writeMs, "late", async (late) => {
            for (let place = 0; place < body.length && !isOver(late); place += PART) {
              await sink.write(body.slice(place, place + PART));
            }
          });
          if (outcome === "late") throw new LateReaderError(writeMs);
        } finally {
          share.give(visitor, bytes);
        }
      },
    };
  };
}
