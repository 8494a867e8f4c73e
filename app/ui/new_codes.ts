/** New codes for the page, one for each Enter on the terminal. */

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

/** Calls `onEnter` at each Enter until the process ends. Returns whether there is a terminal to read. */
export function followEnter(onEnter: () => void): boolean {
  if (!isInForeground()) return false;
  const read = async () => {
    const keys = new Uint8Array(256);
    for (;;) {
      const length = await Deno.stdin.read(keys);
      if (length === null) return;
      if (keys.subarray(0, length).includes(10)) onEnter();
    }
  };
  // A terminal that has gone has no Enter.
  read().catch(() => {});
  return true;
}
