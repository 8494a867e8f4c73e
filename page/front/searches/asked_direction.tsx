/** Question which direction of a metric is better, where nobody says it: asked once, and remembered by this browser. */
import { signal } from "@preact/signals";
import type { Direction } from "../../../crds/wire/searches.ts";
import { Hostile } from "../marks_and_signs.tsx";
import { plainText } from "../readable_text.ts";

/** Where the browser keeps the answers. */
const KEPT = "milepost.directions";
/** Most answers that are kept. */
const MOST = 100;

/** Returns the answers of a text; of anything else none. */
function readDirections(text: string | null): ReadonlyMap<string, Direction> {
  let pairs: unknown;
  try {
    pairs = JSON.parse(text ?? "[]");
  } catch {
    return new Map();
  }
  return new Map(
    (Array.isArray(pairs) ? pairs : []).flatMap((pair): [string, Direction][] => {
      const [metric, direction] = Array.isArray(pair) ? pair : [];
      const isKnown = direction === "minimize" || direction === "maximize";
      return typeof metric === "string" && isKnown ? [[metric, direction]] : [];
    }),
  );
}

const answers = signal(readDirections(localStorage.getItem(KEPT)));

/** Returns what was answered for a metric; empty: it was not asked yet. */
export const answeredDirection = (metric: string) => answers.value.get(metric) ?? "";

/** Keeps an answer. */
export function answerDirection(metric: string, direction: Direction): void {
  const others = [...answers.value].filter(([name]) => name !== metric);
  const all = [...others, [metric, direction] as const].slice(-MOST);
  answers.value = new Map(all);
  localStorage.setItem(KEPT, JSON.stringify(all));
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
