/** Time range of the charts of a job: as it is changed, as the address has it, and how to leave it. */
import { useEffect, useRef, useState } from "preact/hooks";
import { showJob } from "../page_state.ts";
import { placeText } from "./chart_legend.tsx";
import type { AxisKind, JobView } from "../url_state.ts";
import type { TimeRange } from "./zoom_range.ts";

/** Time for which a range has to stay as it is before it comes into the address, in milliseconds. */
const SETTLED_MS = 300;

/** Returns the range as it is shown, and how to change it; the address has it, and its axis, once it is settled. */
export function useRange(view: JobView, axis: AxisKind) {
  const [range, setRange] = useState(view.range);
  const newest = useRef({ view, axis });
  newest.current = { view, axis };
  const [shown, settled] = [JSON.stringify(range), JSON.stringify(view.range)];
  useEffect(() => setRange(view.range), [settled]);
  useEffect(() => {
    if (shown === settled) return;
    const timer = setTimeout(() => {
      // One step back in the history of the tab shows all of the time.
      const { view, axis } = newest.current;
      const isStep = view.range !== undefined && range !== undefined;
      showJob(view, range === undefined ? { range } : { range, axis }, isStep);
    }, SETTLED_MS);
    return () => clearTimeout(timer);
  }, [shown]);
  return [range, setRange] as const;
}

/** The range that is shown, and how to leave it. */
export function RangeBar({ range, axis, onRange }: {
  range: TimeRange;
  axis: AxisKind;
  onRange: (range: TimeRange | undefined) => void;
}) {
  const text = (at: number) => placeText(axis, axis === "step" ? at : at / 1000);
  return (
    <p class="row">
      <span role="status">
        Shown: {text(range.from)} to {text(range.to)}
      </span>
      <button type="button" onClick={() => onRange(undefined)}>
        Show all <kbd>0</kbd>
      </button>
    </p>
  );
}
