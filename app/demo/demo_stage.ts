/** Stage of a demo: a control plane in a temporary folder, a limit of time, and the page until its reader has seen enough. */
import { aborted } from "../../platform/base/aborted.ts";
import { systemClock as clock } from "../../platform/base/clock.ts";
import { lookOfProcess, processTerminal } from "../../terminal/process_terminal.ts";
import { type Standalone, startStandalone } from "../standalone/standalone.ts";
import { followEnter } from "../ui/enter_key.ts";
import { chooseDisplay, type Display } from "./display.ts";

/** How a demo is shown. */
export interface DemoOptions {
  readonly json: boolean;
  /** Seconds for which jobs train at least. Default: long enough to watch at a terminal, else as long as they need. */
  readonly seconds?: number | undefined;
  readonly write: (text: string) => void;
  /** Ends the demo. */
  readonly signal: AbortSignal;
}

/** What is played on. */
export interface Stage {
  readonly standalone: Standalone;
  readonly display: Display;
  /** For which jobs train at least, all together where they come one after the other. */
  readonly seconds: number;
  readonly signal: AbortSignal;
}

/** What is played, and how it is told. */
export interface DemoPlay<T> {
  /** Where to watch it, before the address of the page. */
  readonly watch: string;
  readonly about: string;
  /** Returns the outcome, which does not count if the demo was ended before. */
  readonly play: (stage: Stage) => Promise<T>;
  readonly show: (outcome: T, display: Display) => void | Promise<void>;
}

/** Seconds for which jobs train where somebody watches them. */
export const WATCHED_SECONDS = 45;
/** Longest time of a whole demo besides, in seconds; a machine that is too slow gets an error. */
const DEADLINE_SECONDS = 180;

/** The display on the standard output of this process. */
function displayOf(options: DemoOptions): Display {
  const terminal = Deno.stdout.isTerminal()
    ? { look: lookOfProcess(), size: processTerminal.size }
    : undefined;
  return chooseDisplay({ ...options, clock, ...(terminal && { terminal }) });
}

/** Plays a demo, and returns its outcome; undefined if it was ended before. Leaves no process and no file of its own. */
export async function playOnStage<T>(
  options: DemoOptions,
  { watch, about, play, show }: DemoPlay<T>,
): Promise<T | undefined> {
  const { json } = options;
  const seconds = options.seconds ?? (Deno.stdout.isTerminal() && !json ? WATCHED_SECONDS : 0);
  const display = displayOf(options);
  const limitSeconds = DEADLINE_SECONDS + 2 * seconds;
  const limit = AbortSignal.timeout(1_000 * limitSeconds);
  const signal = AbortSignal.any([options.signal, limit]);
  display.note("Starting a control plane on this machine ...");
  const standalone = await startStandalone({ port: 0, statusPort: 0, uiPort: 0 }, signal);
  try {
    const tell = () => display.note(`${watch}: ${standalone.page?.newAddress()}`);
    tell();
    /** The end of the terminal; undefined if there is none. */
    const left = json ? undefined : followEnter(tell);
    if (left !== undefined) display.note("Enter prints another address, Ctrl-C ends it.");
    display.note(about);
    const outcome = await play({ standalone, display, seconds, signal });
    if (limit.aborted) throw new Error(`the demo took more than ${limitSeconds} s`);
    if (options.signal.aborted) return undefined;
    await show(outcome, display);
    if (left !== undefined) {
      display.note("The page stays until you press Ctrl-C.");
      await Promise.race([left, aborted(options.signal)]);
    }
    return outcome;
  } finally {
    await standalone.stop();
  }
}
