/** Stage of a demo: a control plane in a temporary folder, a limit of time, and the page until its reader has seen enough. */
import { systemClock as clock } from "../../platform/base/clock.ts";
import { lookOfProcess, processTerminal } from "../../terminal/process_terminal.ts";
import { type Standalone, startStandalone } from "../standalone/standalone.ts";
import { untilEnter } from "../ui/enter_key.ts";
import { chooseDisplay, type Display } from "./display.ts";

/** How a demo is shown. */
export interface DemoOptions {
  readonly json: boolean;
  readonly write: (text: string) => void;
  /** Ends the demo. */
  readonly signal: AbortSignal;
}

/** What is played, and how it is told. */
export interface DemoPlay<T> {
  /** Where to watch it, before the address of the page. */
  readonly watch: string;
  readonly about: string;
  /** Returns the outcome; undefined if the demo was ended before. */
  readonly play: (
    standalone: Standalone,
    display: Display,
    signal: AbortSignal,
  ) => Promise<T | undefined>;
  readonly show: (outcome: T, display: Display) => void | Promise<void>;
}

/** Longest time of a whole demo, in milliseconds; a machine that is too slow gets an error. */
const DEADLINE_MS = 180_000;

/** The display on the standard output of this process. */
function displayOf(options: DemoOptions): Display {
  const terminal = Deno.stdout.isTerminal()
    ? { look: lookOfProcess(), size: processTerminal.size }
    : undefined;
  return chooseDisplay({ ...options, clock, ...(terminal && { terminal }) });
}

/** Plays a demo, and returns its outcome. Leaves no process and no file of its own. */
export async function playOnStage<T>(
  options: DemoOptions,
  { watch, about, play, show }: DemoPlay<T>,
): Promise<T | undefined> {
  const display = displayOf(options);
  const limit = AbortSignal.timeout(DEADLINE_MS);
  const signal = AbortSignal.any([options.signal, limit]);
  display.note("Starting a control plane on this machine ...");
  const standalone = await startStandalone({ port: 0, statusPort: 0, uiPort: 0 }, signal);
  try {
    const { page } = standalone;
    if (page) display.note(`${watch}: ${page.newAddress()}`);
    display.note(about);
    const outcome = await play(standalone, display, signal);
    if (limit.aborted) throw new Error(`the demo took more than ${DEADLINE_MS / 1000} s`);
    if (outcome === undefined) return undefined;
    await show(outcome, display);
    if (page && !options.json) {
      const note = () => display.note("The page is there until you press Enter.");
      await untilEnter(options.signal, note);
    }
    return outcome;
  } finally {
    await standalone.stop();
  }
}
