/** The demo of trials from start to end: the example trial controller, table and curves. */
import { type DemoOptions, playOnStage } from "../demo_stage.ts";
import { curvesSvg } from "./curves_svg.ts";
import { OBJECTIVE, stoppedEarly, trialsTable, type TrialSummary } from "./results.ts";
import { playTrials } from "./scenario.ts";

/** How it is shown. */
export interface TrialsDemoOptions extends DemoOptions {
  /** File of the learning curves. */
  readonly svg: string;
}

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
  const trials = await playOnStage(options, {
    watch: "Watch them in a browser, under Trials",
    about: "Six learning rates, two at a time; examples/trial-controller has the rule.",
    play: playTrials,
    async show(trials) {
      await Deno.writeTextFile(options.svg, chartOf(trials));
      tell(options, trials);
    },
  });
  if (trials !== undefined && !stoppedEarly(trials)) {
    throw new Error("fewer than two trials stopped early; see the table");
  }
}
