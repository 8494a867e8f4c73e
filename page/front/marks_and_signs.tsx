/** Small signs: state, progress, age and switches, none of which says anything only by colour. */
import type { ComponentChildren } from "preact";
import { ageText, durationText, plainText, shortText, zoneText } from "./readable_text.ts";
import { clockText } from "../../platform/base/local_time.ts";
import { type JobChange, jobChangeText } from "../../platform/base/job_change_text.ts";
import type { TrialState } from "../../crds/wire/searches.ts";
import { now } from "./page_state.ts";

/** Shapes of the states, in a box of 12. A map, because a state may be any text: an object has more than its own names. */
const SHAPES: ReadonlyMap<string, string> = new Map(Object.entries(
  {
    Created: "M6 1.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 1 0 0-9ZM6 3.2V6l2 1.4",
    Running: "M3.2 1.8v8.4L10 6Z",
    Suspended: "M3.5 2v8M8.5 2v8",
    Complete: "M1.8 6.4l2.9 2.9l5.6-6.2",
    Failed: "M2.4 2.4l7.2 7.2M9.6 2.4l-7.2 7.2",
    EarlyStopped: "M2.5 2.5h7v7h-7Z",
    Killed: "M6 1.2L10.8 6L6 10.8L1.2 6Z",
    MetricsUnavailable: "M4 4.2a2 2 0 1 1 2.8 1.8c-.6.4-.8.8-.8 1.6M6 9.6v.3",
  } satisfies Record<TrialState, string>,
));

/** A state, as a shape and a word, and what happens to a job that runs. */
export function StateSign({ state, ...change }: JobChange & { readonly state: string }) {
  const text = jobChangeText(change, now.value, durationText);
  return (
    <span class={`state state-${SHAPES.has(state) ? state : "other"}`}>
      <svg viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">
        <path d={SHAPES.get(state) ?? "M2 6h8"} />
      </svg>
      <span class="word">{plainText(state)}</span>
      {text !== undefined && <span class="problem">· {text}</span>}
    </span>
  );
}

/** Progress as a bar and a number. */
export function Progress({ percent, label }: { percent: number | undefined; label: string }) {
  if (percent === undefined) return <span class="quiet">–</span>;
  return (
    <span class="progress">
      <progress max={100} value={percent} aria-label={label} />
      <span class="number">{Math.round(percent)} %</span>
    </span>
  );
}

/** Time since a moment, which goes on. */
export function Age(
  { sinceMs, endMs }: { sinceMs: number | undefined; endMs?: number | undefined },
) {
  if (sinceMs === undefined) return <span class="quiet">–</span>;
  const seconds = ((endMs ?? now.value) - sinceMs) / 1000;
  return <time dateTime={new Date(sinceMs).toISOString()}>{ageText(seconds)}</time>;
}

/** A moment, as the time of day; the date and the zone are there to be looked up. */
export function Moment({ timeMs }: { timeMs: number | undefined }) {
  if (timeMs === undefined) return <span class="quiet">–</span>;
  return (
    <time
      dateTime={new Date(timeMs).toISOString()}
      title={`${clockText(timeMs, 0)} ${zoneText(timeMs)}`}
    >
      {clockText(timeMs, now.value)}
    </time>
  );
}

/** Time that is left. */
export function Remaining({ seconds }: { seconds: number | undefined }) {
  if (seconds === undefined) return <span class="quiet">–</span>;
  return <span class="number">{durationText(seconds)}</span>;
}

/** Hostile text that stands by itself: it cannot turn what is around it. */
export const Hostile = ({ text }: { text: string }) => <bdi>{plainText(text)}</bdi>;

/** Hostile text of at most so many characters; the whole is there to be looked up. */
export const ShortText = ({ text, most }: { text: string; most: number }) => (
  <bdi title={plainText(text)}>{shortText(text, most)}</bdi>
);

/** What is known of something, under a name. */
export const Fact = ({ name, children }: { name: string; children: ComponentChildren }) => (
  <div>
    <dt>
      <Hostile text={name} />
    </dt>
    <dd>{children}</dd>
  </div>
);

/** A button that is on or off. */
export function Switch(
  { isOn, onChange, children }: {
    isOn: boolean;
    onChange: (isOn: boolean) => void;
    children: ComponentChildren;
  },
) {
  return (
    <button
      type="button"
      class="switch"
      aria-pressed={isOn}
      onClick={() => onChange(!isOn)}
    >
      {children}
    </button>
  );
}

/** A whole area's state: what is so, and what can be done. */
export function Notice(
  { title, children, kind = "plain" }: {
    title: string;
    children?: ComponentChildren;
    kind?: "plain" | "warning";
  },
) {
  return (
    <section class={`notice notice-${kind}`} role={kind === "warning" ? "alert" : "status"}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}
