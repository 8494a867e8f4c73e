/** Text of a log: what is looked for is marked in it, and its end is stayed at. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { foundParts, linesWith, MOST_FOUND } from "./log_find.ts";
import { Switch } from "../marks_and_signs.tsx";
import { showJob } from "../page_state.ts";
import type { JobView } from "../url_state.ts";

/** What is looked for, where it is, and whether the end is stayed at. */
export interface LogLook {
  readonly parts: ReturnType<typeof foundParts>;
  /** Places that are found. */
  readonly count: number;
  /** The one that is shown. */
  readonly place: number;
  readonly isAtEnd: boolean;
  readonly go: (change: { readonly place?: number; readonly isAtEnd?: boolean }) => void;
}

/** Looks for what a view asks for; the newest place is shown first. */
export function useLook(view: JobView, text: string): LogLook {
  const [isAtEnd, setAtEnd] = useState(view.find === "");
  const [chosen, setChosen] = useState<number>();
  const parts = useMemo(
    () => foundParts(view.isOnlyFound ? linesWith(text, view.find) : text, view.find),
    [text, view.find, view.isOnlyFound],
  );
  const count = Math.floor(parts.length / 2);
  useEffect(() => {
    setChosen(undefined);
    if (view.find !== "") setAtEnd(false);
  }, [view.find]);
  return {
    parts,
    count,
    place: Math.min(chosen ?? count - 1, count - 1),
    isAtEnd,
    go: ({ place, isAtEnd = false }) => {
      setAtEnd(isAtEnd);
      if (place !== undefined) setChosen((place + count) % Math.max(1, count));
    },
  };
}

/** Field of what is looked for: Enter shows the next place, with Shift the one before. */
export function LogSearch({ view, look }: { view: JobView; look: LogLook }) {
  const { count, place, go } = look;
  const most = count === MOST_FOUND ? "the newest " : "";
  return (
    <>
      <label class="choice">
        <span>Search</span>
        <input
          type="search"
          maxLength={128}
          value={view.find}
          onInput={({ currentTarget: { value } }) => showJob(view, { find: value }, true)}
          onKeyDown={(event) => {
            if (event.key === "Enter") go({ place: place + (event.shiftKey ? -1 : 1) });
          }}
        />
      </label>
      {view.find !== "" && (
        <>
          <span class="number" role="status">
            {count === 0 ? "Not found" : `${place + 1} of ${most}${count.toLocaleString("en")}`}
          </span>
          <button type="button" disabled={count === 0} onClick={() => go({ place: place - 1 })}>
            Previous
          </button>
          <button type="button" disabled={count === 0} onClick={() => go({ place: place + 1 })}>
            Next
          </button>
          <Switch
            isOn={view.isOnlyFound}
            onChange={(isOnlyFound) => showJob(view, { isOnlyFound }, true)}
          >
            Matching lines only
          </Switch>
        </>
      )}
    </>
  );
}

/** The text. */
export function LogText(
  { view, look, label, empty }: { view: JobView; look: LogLook; label: string; empty: string },
) {
  const { parts, place, isAtEnd, go } = look;
  const box = useRef<HTMLPreElement>(null);
  const mark = useRef<HTMLElement>(null);
  useEffect(() => {
    if (isAtEnd && box.current !== null) box.current.scrollTop = box.current.scrollHeight;
  }, [parts, isAtEnd]);
  useEffect(() => {
    if (!isAtEnd) mark.current?.scrollIntoView({ block: "center", inline: "nearest" });
  }, [place, view.find, view.isOnlyFound, isAtEnd]);
  const isEmpty = parts.every(({ text }) => text === "");
  return (
    <pre
      ref={box}
      class={view.isWrapped ? "log" : "log unwrapped"}
      tabIndex={0}
      role="region"
      aria-label={label}
      onScroll={({ currentTarget: it }) => {
        const atEnd = it.scrollTop + it.clientHeight >= it.scrollHeight - 4;
        if (isAtEnd && !atEnd) go({});
      }}
    >
      {isEmpty ? empty : parts.map((it) =>
        it.place === undefined ? it.text : (
          <mark
            key={it.place}
            ref={it.place === place ? mark : undefined}
            aria-current={it.place === place ? "true" : undefined}
          >
            {it.text}
          </mark>
        )
      )}
    </pre>
  );
}
