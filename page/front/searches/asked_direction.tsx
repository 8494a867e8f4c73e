/** Question which direction of a metric is better, where nobody says it: asked once, and remembered by this browser. */
import { signal } from "@preact/signals";
import type { Direction } from "../../../crds/wire/searches.ts";
import { Hostile } from "../marks_and_signs.tsx";
import { plainText } from "../readable_text.ts";
import { DIRECTIONS } from "./search_view.ts";

/** Where the browser keeps the answer for a metric. */
const placeOf = (metric: string) => `milepost.better.${metric}`;
/** Counts the answers of this page, so that what shows them is drawn anew. */
const answers = signal(0);

/** Returns what was answered for a metric; empty: it was not asked yet. */
export function answeredDirection(metric: string): Direction | "" {
  const kept = answers.value >= 0 && localStorage.getItem(placeOf(metric));
  return DIRECTIONS.find((it) => it === kept) ?? "";
}

/** Keeps an answer. */
export function answerDirection(metric: string, direction: Direction): void {
  localStorage.setItem(placeOf(metric), direction);
  answers.value++;
}

/** The question, with both answers. */
export function DirectionQuestion({ metric }: { metric: string }) {
  const name = plainText(metric);
  const answer = (word: string, direction: Direction) => (
    <button
      type="button"
      class="small"
      aria-label={`${word} ${name} is better`}
      onClick={() => answerDirection(metric, direction)}
    >
      {word}
    </button>
  );
  return (
    <span class="row question">
      <span>
        Is lower or higher <Hostile text={metric} /> better?
      </span>
      {answer("Lower", "minimize")}
      {answer("Higher", "maximize")}
    </span>
  );
}
