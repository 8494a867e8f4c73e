/** Tests of journeys through the page in Chromium. */
import { journey, type JourneyOptions } from "./journey.ts";

const JOURNEYS: Readonly<Record<string, JourneyOptions>> = {
  list: { sentence: "the list of 10,000 jobs is a window that lives", jobs: 10_000 },
  ended: { sentence: "jobs that have ended are deleted together", jobs: 40 },
  hostile: { sentence: "hostile texts are text, and break no policy", jobs: 3, hostile: true },
  logs: { sentence: "a log that breaks off is read on, each line once", jobs: 5 },
  zoom: { sentence: "a chart is zoomed into by pointer and by keyboard", jobs: 5 },
  keyboard: { sentence: "a job is found, watched and stopped by keyboard alone", jobs: 50 },
  menus: { sentence: "menus and dialogs close, and give the focus back", jobs: 9 },
  configuration: { sentence: "what jobs were started with stands beside them", jobs: 9 },
  trials: {
    sentence:
      "a search of 30 trials is looked through by keyboard alone, and stopped ones are dashed",
    jobs: 20,
  },
  best: { sentence: "what is better is asked once, and then there is a best trial", jobs: 9 },
  states: { sentence: "disconnected, forbidden, gone and an old code are said as such", jobs: 100 },
  login: { sentence: "a token logs in, is kept by its tab, and may come from a proxy", jobs: 20 },
  charts: { sentence: "odd values are drawn, and a view is in its link", jobs: 9, hostile: true },
  steps: {
    sentence: "curves are read over steps, with one crosshair, and NaN is a mark",
    jobs: 9,
    hostile: true,
  },
  faults: { sentence: "what fails is said, and comes back by itself", jobs: 9 },
  asleep: { sentence: "an hour asleep is said, and ends by itself or with a new code", jobs: 9 },
  phone: { sentence: "nothing is cut off on a phone", jobs: 9, hostile: true },
  axe: { sentence: "axe-core finds nothing, on a screen and on a phone", jobs: 60 },
};
for (const [name, options] of Object.entries(JOURNEYS)) Deno.test(journey(name, options));
