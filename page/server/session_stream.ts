/** Streams of a session: an open one counts as use of its session, and ends with it. */
import type { HttpResponse, ResponseSink } from "../../platform/http/message.ts";
import type { Clock } from "../../platform/base/clock.ts";

/** Time between two checks that the session is still there, in milliseconds. */
const CHECK_MS = 15_000;

/**
 * Returns the response whose stream goes on while `isOpen`, which counts as use of the session. Its signal aborts when
 * the stream is over, which waits for it.
 */
export function whileOpen(
  response: HttpResponse,
  isOpen: (signal: AbortSignal) => boolean | Promise<boolean>,
  clock: Pick<Clock, "sleep">,
  checkMs = CHECK_MS,
): HttpResponse {
  const { stream } = response;
  if (stream === undefined) return response;
  return {
    ...response,
    async stream(sink: ResponseSink) {
      const ended = new AbortController();
      const done = new AbortController();
      const watch = async () => {
        for (;;) {
          await clock.sleep(checkMs, done.signal);
          if (done.signal.aborted) return;
          if (!await isOpen(done.signal)) return ended.abort();
        }
      };
      const watching = watch();
      const signal = AbortSignal.any([sink.signal, ended.signal]);
      try {
        await stream({
          write: (part) => signal.aborted ? Promise.resolve() : sink.write(part),
          signal,
        });
      } finally {
        done.abort();
        await watching;
      }
    },
  };
}
