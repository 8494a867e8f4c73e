/** Response bodies that end when a signal aborts, even if the runtime leaves them open. */
import { onAbort } from "../../base/aborted.ts";

/**
 * The response, with a body that fails with the signal's reason as soon as it aborts, and lets the
 * connection go. The runtime's `fetch` promises that too, but forgets the signal of a body that is
 * read for long once garbage was collected: such a watch would never end.
 */
export function endingWith(response: Response, signal: AbortSignal): Response {
  if (response.body === null) return response;
  const reader = response.body.getReader();
  const leave = onAbort(signal, () => {
    // This ends the pending read; a failed cancellation cannot be reported.
    reader.cancel(signal.reason).catch(() => undefined);
  });
  const body = new ReadableStream<Uint8Array>({
    async pull(stream) {
      try {
        const { done, value } = await reader.read();
        signal.throwIfAborted();
        if (!done) return stream.enqueue(value);
        leave();
        stream.close();
      } catch (error) {
        leave();
        stream.error(signal.aborted ? signal.reason : error);
      }
    },
    cancel(reason) {
      leave();
      return reader.cancel(reason);
    },
  }, { highWaterMark: 0 });
  const { status, statusText, headers } = response;
  return new Response(body, { status, statusText, headers });
}
