/** SIGTERM, SIGINT and SIGHUP as an AbortSignal. */
import { systemClock } from "../platform/base/clock.ts";

/**
 * A Ctrl-C comes to all processes of a terminal, and `deno task` passes it on to its child besides: what
 * comes within this time of the first is the same request, in milliseconds.
 */
const SAME_REQUEST_MS = 1_000;

/** Bit of SIGHUP in the masks of `/proc/self/status`. */
const HANGUP_BIT = 1n;

/** Whether this process was started to outlive its terminal, by nohup for one; false without `/proc`. */
function ignoresHangup(): boolean {
  try {
    const status = Deno.readTextFileSync("/proc/self/status");
    const mask = /^SigIgn:\s*([0-9a-f]+)$/m.exec(status)?.[1];
    return mask !== undefined && (BigInt(`0x${mask}`) & HANGUP_BIT) !== 0n;
  } catch {
    return false;
  }
}

/** A signal that aborts on the first request to stop; a second request ends the process at once. */
export function stopSignal(): AbortSignal {
  const outlivesTerminal = ignoresHangup();
  const controller = new AbortController();
  let firstMs = 0;
  const onSignal = () => {
    const nowMs = systemClock.monotonic();
    if (!controller.signal.aborted) {
      firstMs = nowMs;
      controller.abort();
    } else if (nowMs - firstMs > SAME_REQUEST_MS) Deno.exit(1);
  };
  Deno.addSignalListener("SIGTERM", onSignal);
  Deno.addSignalListener("SIGINT", onSignal);
  // The end of the terminal. With any listener Deno would end at it, even if it was ignored before.
  Deno.addSignalListener("SIGHUP", outlivesTerminal ? () => {} : onSignal);
  return controller.signal;
}
