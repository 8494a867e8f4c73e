/** SIGTERM and SIGINT as an AbortSignal. */

/**
 * A Ctrl-C comes to all processes of a terminal, and `deno task` passes it on to its child besides: what
 * comes within this time of the first is the same request, in milliseconds.
 */
const SAME_REQUEST_MS = 1_000;

/** A signal that aborts on the first request to stop; a second request ends the process at once. */
export function stopSignal(): AbortSignal {
  const controller = new AbortController();
  let firstMs = 0;
  const onSignal = () => {
    const nowMs = performance.now();
    if (!controller.signal.aborted) {
      firstMs = nowMs;
      controller.abort();
    } else if (nowMs - firstMs > SAME_REQUEST_MS) Deno.exit(1);
  };
  Deno.addSignalListener("SIGTERM", onSignal);
  Deno.addSignalListener("SIGINT", onSignal);
  return controller.signal;
}
