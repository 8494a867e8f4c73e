/** The Enter key of the terminal: for new codes of the page, and to end what waits for it. */
import { onAbort } from "../../platform/base/aborted.ts";

/** Fields of `/proc/self/stat` behind the name of the program, which may hold blanks. */
const PROCESS_GROUP = 2;
const TERMINAL_GROUP = 5;

/** Returns whether the terminal's keys are for this process: reading stops one in the background. */
function isInForeground(): boolean {
  if (!Deno.stdin.isTerminal()) return false;
  try {
    const stat = Deno.readTextFileSync("/proc/self/stat");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[PROCESS_GROUP] === fields[TERMINAL_GROUP];
  } catch {
    return false;
  }
}

/** Calls `onEnter` at each Enter until the terminal has gone, and then `onEnd`. */
async function readKeys(onEnter: () => void, onEnd: () => void): Promise<void> {
  const keys = new Uint8Array(256);
  try {
    for (;;) {
      const length = await Deno.stdin.read(keys);
      if (length === null) break;
      if (keys.subarray(0, length).includes(10)) onEnter();
    }
  } catch {
    // A terminal that has gone has no Enter.
  }
  onEnd();
}

/** Calls `onEnter` at each Enter until the process ends. Returns whether there is a terminal to read. */
export function followEnter(onEnter: () => void): boolean {
  if (!isInForeground()) return false;
  readKeys(onEnter, () => {});
  return true;
}

/**
 * Resolves at the next Enter, when the terminal has gone, or when `signal` aborts; at once without a
 * terminal. `before` is called if there is one. It reads the terminal until the process ends.
 */
export async function untilEnter(signal: AbortSignal, before: () => void): Promise<void> {
  if (signal.aborted || !isInForeground()) return;
  before();
  const { promise, resolve } = Promise.withResolvers<void>();
  onAbort(signal, resolve);
  readKeys(resolve, resolve);
  await promise;
}
