/** Lines and signs of trials in charts: told apart by dashes and shapes, and only then by colour. */
import { signal } from "@preact/signals";
import { plainText } from "../readable_text.ts";
import type { Counts } from "./search_answer.ts";
import type { TrialState } from "../../../crds/wire/searches.ts";
import { showSearch } from "../page_state.ts";

/** The trial under the pointer. */
export const pointed = signal("");

/** Names of classes by state; those of hostile texts are another. */
const CLASSES: ReadonlyMap<string, string> = new Map(Object.entries(
  {
    Created: "waits",
    Running: "runs",
    Suspended: "waits",
    Complete: "done",
    EarlyStopped: "stopped",
    Failed: "failed",
    Killed: "failed",
    MetricsUnavailable: "failed",
  } satisfies Record<TrialState, string>,
));
export const lineClass = (state: string) => `trial ${CLASSES.get(state) ?? "other"}`;

/** Shapes around 0, in a box of 10. */
const SHAPES: ReadonlyMap<string, string> = new Map([
  ["runs", "M-3.5 -4L4.5 0L-3.5 4Z"],
  ["waits", "M-3.5 -4L4.5 0L-3.5 4Z"],
  ["done", "M0 -3.5a3.5 3.5 0 1 0 0.01 0Z"],
  ["stopped", "M-3.2 -3.2h6.4v6.4h-6.4Z"],
  ["failed", "M-3.2 -3.2L3.2 3.2M3.2 -3.2L-3.2 3.2"],
]);
const STAR = "M0 -6.5L1.8 -2L6.5 -1.9L2.8 1.1L4.1 5.6L0 3L-4.1 5.6L-2.8 1.1L-6.5 -1.9L-1.8 -2Z";

/** The sign of a trial at a point. */
export function TrialSign(
  { state, x, y, isBest = false }: { state: string; x: number; y: number; isBest?: boolean },
) {
  const shape = SHAPES.get(CLASSES.get(state) ?? "") ?? "M-4 0h8";
  return (
    <path
      class={`${lineClass(state)} sign ${isBest ? "best" : ""}`}
      d={isBest ? STAR : shape}
      transform={`translate(${x.toFixed(1)} ${y.toFixed(1)})`}
    />
  );
}

/** Handlers by which what stands for a trial is pointed at. */
export const pointing = (name: string) => ({
  onPointerEnter: () => {
    pointed.value = name;
  },
  onPointerLeave: () => {
    if (pointed.value === name) pointed.value = "";
  },
});

/** Handlers by which a line or a sign is pointed at, and marked. */
export const marking = (name: string) => ({
  ...pointing(name),
  onClick: () => showSearch({ trial: name }, true),
});

/** What the lines mean. */
export function TrialLegend({ counts, best }: { counts: Counts; best: string }) {
  return (
    <ul class="row trials-legend" aria-label="What the lines mean">
      {counts.states.map(([state, count]) => (
        <li key={state}>
          <svg width="38" height="12" viewBox="0 -6 38 12" aria-hidden="true">
            <path class={`${lineClass(state)} line`} d="M0 0H30" />
            <TrialSign state={state} x={31} y={0} />
          </svg>
          {plainText(state)} <span class="count">{count}</span>
        </li>
      ))}
      {best !== "" && (
        <li>
          <svg width="38" height="14" viewBox="0 -7 38 14" aria-hidden="true">
            <path class="trial line best" d="M0 0H30" />
            <TrialSign state="Complete" x={31} y={0} isBest />
          </svg>
          The best
        </li>
      )}
    </ul>
  );
}
