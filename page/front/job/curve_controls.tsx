/** Controls of a job's charts: their axis, scale and smoothing, and which metrics they show. */
import { Choice } from "../form_fields.tsx";
import { Hostile, Switch } from "../marks_and_signs.tsx";
import { Menu } from "../menu.tsx";
import { showJob } from "../page_state.ts";
import { AXES, type AxisKind, type JobView } from "../url_state.ts";

const AXIS_WORDS: Readonly<Record<AxisKind, string>> = {
  step: "Step",
  elapsed: "Time",
  clock: "Wall clock",
};

/** How the charts are drawn, and over what. */
export function ScaleControls(
  { view, axis, hasSteps }: { view: JobView; axis: AxisKind; hasSteps: boolean },
) {
  return (
    <>
      <Choice
        label="Axis"
        value={axis}
        options={AXES.map((it) => [it, AXIS_WORDS[it], it !== "step" || hasSteps || axis === it])}
        onChange={(value) => showJob(view, { axis: AXES.find((it) => it === value) })}
      />
      <Switch isOn={view.isLog} onChange={(isLog) => showJob(view, { isLog })}>Log axis</Switch>
      <Switch isOn={view.band} onChange={(band) => showJob(view, { band })}>Min–max band</Switch>
      <label class="choice">
        <span>Smoothing</span>
        <input
          type="range"
          min={0}
          max={0.99}
          step={0.01}
          value={view.weight}
          onInput={({ currentTarget }) =>
            showJob(view, { weight: Number(currentTarget.value) }, true)}
        />
        <output class="number">{view.weight.toFixed(2)}</output>
      </label>
    </>
  );
}

/** Which metrics have a chart. */
export function MetricChoice({ view, names }: { view: JobView; names: readonly string[] }) {
  if (names.length < 2 && view.metrics.length === 0) return null;
  return (
    <Menu
      label={
        <>
          Metrics {view.metrics.length > 0 && <span class="count">{view.metrics.length}</span>}
        </>
      }
    >
      {[...new Set([...names, ...view.metrics])].map((name) => (
        <label key={name} class="check">
          <input
            type="checkbox"
            checked={view.metrics.includes(name)}
            onChange={({ currentTarget: { checked } }) => {
              const others = view.metrics.filter((it) => it !== name);
              showJob(view, { metrics: checked ? [...others, name].slice(0, 16) : others });
            }}
          />
          <Hostile text={name} />
        </label>
      ))}
      <button type="button" onClick={() => showJob(view, { metrics: [] })}>All</button>
    </Menu>
  );
}
