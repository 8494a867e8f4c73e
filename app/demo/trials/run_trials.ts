/** The demo of trials from start to end: a control plane, the example trial controller, table and curves. */
import { startStandalone } from "../../standalone/standalone.ts";
import { displayOfProcess } from "../process_display.ts";
import { keepPage } from "../kept_page.ts";
import { curvesSvg } from "./curves_svg.ts";
import { OBJECTIVE, stoppedEarly, trialsTable, type TrialSummary } from "./results.ts";
import { playTrials } from "./scenario.ts";

/** How it is shown. */
export interface TrialsDemoOptions {
  readonly json: boolean;
  readonly write: (text: string) => void;
  /** File of the learning curves. */
  readonly svg: string;
  /** Ends the demo. */
  readonly signal: AbortSignal;
}

/** Longest time of all trials, in milliseconds; a machine that is too slow gets an error. */
const DEADLINE_MS = 180_000;

function chartOf(trials: readonly TrialSummary[]): string {
  return curvesSvg({
    title: "Learning rates, and where a trial was stopped early",
    xLabel: "reports",
    yLabel: OBJECTIVE,
    curves: trials.map(({ job, parameters, curve, state }) => ({
      name: `${job} (${Object.values(parameters).join(", ")})`,
      values: curve,
      stopped: state === "EarlyStopped",
    })),
  });
}

/** The table and the file of the curves, or one line of JSON with both. */
function tell({ json, write, svg }: TrialsDemoOptions, trials: readonly TrialSummary[]): void {
  if (!json) return write(`\n${trialsTable(trials)}\nLearning curves: ${svg}\n`);
  write(`${JSON.stringify({ summary: trials.map(({ curve: _, ...it }) => it), curves: svg })}\n`);
}

/** Runs the trials. Throws if fewer than two were stopped; leaves no process and no file but the curves. */
export async function runTrialsOnScreen(options: TrialsDemoOptions): Promise<void> {
  const { json, write, svg } = options;
  const display = displayOfProcess({ json, write });
  const limit = AbortSignal.timeout(DEADLINE_MS);
  const signal = AbortSignal.any([options.signal, limit]);
  display.note("Starting a control plane on this machine ...");
  const standalone = await startStandalone({ port: 0, statusPort: 0, uiPort: 0 }, signal);
  try {
    if (standalone.page) {
      display.note(`Watch them in a browser, under Trials: ${standalone.page.newAddress()}`);
    }
    display.note("Six learning rates, two at a time; examples/trial-controller has the rule.");
    const trials = await playTrials(standalone, display, signal);
    if (limit.aborted) throw new Error(`the demo took more than ${DEADLINE_MS / 1000} s`);
    if (options.signal.aborted) return;
    await Deno.writeTextFile(svg, chartOf(trials));
    tell(options, trials);
    await keepPage(standalone.page, display, options);
    if (!stoppedEarly(trials)) {
      throw new Error("fewer than two trials stopped early; see the table");
    }
  } finally {
    await standalone.stop();
  }
}
