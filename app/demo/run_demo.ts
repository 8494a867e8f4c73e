/** The demo from start to end: the scenario and its table. */
import { type DemoOptions, playOnStage } from "./demo_stage.ts";
import { playScenario, wentAsPlanned } from "./scenario.ts";

/** Plays the demo. Throws if a job did not end as it should; leaves no process and no file. */
export async function runDemoOnScreen(options: DemoOptions): Promise<void> {
  const summaries = await playOnStage(options, {
    watch: "Watch them in a browser",
    about: "Three TrainJobs: one on two nodes, one that fails, one that is paused first.",
    play: playScenario,
    show: (summaries, display) => display.finished(summaries),
  });
  if (summaries !== undefined && !wentAsPlanned(summaries)) {
    throw new Error("a job did not end as expected; see the table");
  }
}
