/** The Enter key of the terminal: for new codes of the page. */
import { ifThere } from "../../platform/base/if_there.ts";
import { processTerminal } from "../../terminal/process_terminal.ts";

/** Fields of `/proc/self/stat` behind the name of the program, which may hold blanks. */
const PROCESS_GROUP = 2;
const TERMINAL_GROUP = 5;

/** Returns whether the terminal's keys are for this process: reading stops one in the background. */
function isInForeground(): boolean {
  if (!Deno.stdin.isTerminal()) return false;
  const stat = ifThere(() => Deno.readTextFileSync("/proc/self/stat"));
  const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields !== undefined && fields[PROCESS_GROUP] === fields[TERMINAL_GROUP];
}

/** Calls `onEnter` at each Enter. Returns the end of the terminal; undefined if there is none to read. */
export const followEnter = (onEnter: () => void): Promise<void> | undefined =>
  isInForeground()
    ? processTerminal.onInput((text) => text.includes("\n") && onEnter())
    : undefined;
