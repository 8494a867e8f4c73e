/** Display of the demo on the standard output of this process. */
import { systemClock as clock } from "../../platform/base/clock.ts";
import { lookOfProcess, processTerminal } from "../../terminal/process_terminal.ts";
import { chooseDisplay, type Display, type DisplayParts } from "./display.ts";

/** Returns it. */
export function displayOfProcess(parts: Pick<DisplayParts, "json" | "write">): Display {
  const terminal = Deno.stdout.isTerminal()
    ? { look: lookOfProcess(), size: processTerminal.size }
    : undefined;
  return chooseDisplay({ ...parts, clock, ...(terminal && { terminal }) });
}
