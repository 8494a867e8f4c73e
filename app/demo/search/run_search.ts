/** The demo of a search from start to end: an OptimizationJob with a pruner, table and curves. */
import { valueText } from "../../../terminal/readings.ts";
import { safeJson } from "../../../terminal/shown_text.ts";
import { type DemoOptions, playOnStage } from "../demo_stage.ts";
import { curvesSvg } from "./curves_svg.ts";
import { stepsSaved, trialsTable, type TrialSummary, wasPruned } from "./results.ts";
import { playSearch } from "./search_play.ts";

/** How it is shown. */
export interface SearchDemoOptions extends DemoOptions {
  /** File of the learning curves. */
  readonly svg: string;
}

function chartOf(trials: readonly TrialSummary[]): string {
  const { saved, of } = stepsSaved(trials);
  return curvesSvg({
    title: `Learning rates, and where a trial was pruned: ${saved} of ${of} steps saved`,
    xLabel: "reports",
    yLabel: "loss",
    curves: trials.map(({ trial, parameters, curve, state }) => ({
      name: `${trial} (${Object.values(parameters).map(valueText).join(", ")})`,
      values: curve,
      stopped: state === "EarlyStopped",
    })),
  });
}

/** The table and the file of the curves, or one line of JSON with both. */
function tell({ json, write, svg }: SearchDemoOptions, trials: readonly TrialSummary[]): void {
  if (!json) return write(`\n${trialsTable(trials)}\nLearning curves: ${svg}\n`);
  const summary = trials.map(({ curve: _, ...it }) => it);
  write(`${safeJson({ summary, stepsSaved: stepsSaved(trials), curves: svg })}\n`);
}

/** Runs the search. Throws if fewer than two trials were pruned; leaves no process and no file but the curves. */
export async function runSearchOnScreen(options: SearchDemoOptions): Promise<void> {
  const trials = await playOnStage(options, {
    watch: "Watch them in a browser, under Trials",
    about: "24 learning rates, 6 at a time; what is behind is stopped while it trains.",
    play: (stage) => playSearch(stage, options),
    async show(trials) {
      await Deno.writeTextFile(options.svg, chartOf(trials));
      tell(options, trials);
    },
  });
  if (trials !== undefined && !wasPruned(trials)) {
    throw new Error("fewer than two trials were pruned, or one has failed; see the table");
  }
}
