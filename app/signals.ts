/** SIGTERM, SIGINT, SIGHUP, and the end of a wrapper that started this process, as an AbortSignal. */
import { every, systemClock } from "../platform/base/clock.ts";
import { ifThere } from "../platform/base/if_there.ts";

/**
 * A Ctrl-C comes to all processes of a terminal, and `deno task` passes it on to its child besides: what
 * comes within this time of the first is the same request, in milliseconds.
 */
const SAME_REQUEST_MS = 1_000;

/** Bit of SIGHUP in the masks of `/proc/self/status`. */
const HANGUP_BIT = 1n;

/**
 * Variable by which a wrapper that waits for this process, such as that of the npm package, gives its own id: one that is
 * killed outright can hand nothing on, and would leave a control plane behind.
 */
const WRAPPER_ENV = "MILEPOST_WRAPPER_PID";
const WRAPPER_POLL_MS = 250;

/** Calls `onEnd` when the wrapper of this process, if it has one, is gone: then the process has another parent. */
function followWrapper(onEnd: () => void): void {
  const wrapper = Number(Deno.env.get(WRAPPER_ENV) ?? NaN);
  if (!Number.isInteger(wrapper)) return;
  const stop = every(systemClock, WRAPPER_POLL_MS, () => {
    if (Deno.ppid === wrapper) return;
    stop();
    onEnd();
  });
}

/** Whether this process was started to outlive its terminal, by nohup for one; false without `/proc`. */
function ignoresHangup(): boolean {
  const status = ifThere(() => Deno.readTextFileSync("/proc/self/status")) ?? "";
  const mask = /^SigIgn:\s*([0-9a-f]+)$/m.exec(status)?.[1];
  return mask !== undefined && (BigInt(`0x${mask}`) & HANGUP_BIT) !== 0n;
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
  followWrapper(onSignal);
  return controller.signal;
}
