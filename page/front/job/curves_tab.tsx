/** Curves of a job and of those compared with it, and how they are shown. */
import { useMemo, useState } from "preact/hooks";
import { CompareChoice } from "./compare_choice.tsx";
import type { ChartLine } from "../charts/chart_drawing.ts";
import { LineSample, MetricChart } from "../charts/metric_chart.tsx";
import { Hostile, Moment, Notice, Switch } from "../marks_and_signs.tsx";
import { connection, curves, outage, showJob, shownJobs } from "../page_state.ts";
import { RangeBar, useRange } from "../charts/range_bar.tsx";
import { durationText, numberText, plainText } from "../readable_text.ts";
import { remainingCurve } from "../charts/remaining_curve.ts";
import { jobNameOf, type JobView, jobView, viewFragment } from "../url_state.ts";
import { type Curve, isMetric, type JobCurves } from "../feed/view_answers_read.ts";
import { keyOf } from "../feed/job_key.ts";
import { withFiner } from "../charts/zoom_range.ts";
import { MOST_ZOOMED, sourceText, useZoomed, type Zoomed } from "../charts/zoomed_curves.ts";

/** Charts that are drawn without being asked for. */
const FIRST_CHARTS = 12;

/** A job in a legend: its name, with its namespace if that is another. */
function labelOf(view: JobView, key: string): string {
  const job = jobNameOf(key);
  if (job === undefined) return key;
  return job.namespace === view.namespace ? job.name : `${job.namespace}/${job.name}`;
}

const startOf = (job: JobCurves) =>
  Math.min(...job.curves.map(({ points }) => points[0]?.[0] ?? Infinity));

/** A chart: of a metric, of the progress, or of the time that was left by it. */
interface Chart {
  readonly kind: "metric" | "progress" | "remaining";
  readonly title: string;
  readonly lines: ChartLine[];
}
const KINDS = ["metric", "progress", "remaining"] as const;

type ShownCurve = Pick<Chart, "kind" | "title"> & Pick<Curve, "points">;

/** The curves of a job, with that of the time that was left. */
function shownCurves({ curves }: JobCurves): ShownCurve[] {
  return curves.flatMap(({ name, isProgress, isStep, isNonFinite, points }): ShownCurve[] => {
    if (isStep || isNonFinite) return [];
    if (!isProgress) return [{ kind: "metric", title: name, points }];
    const left = remainingCurve(points);
    const title = "Time left, by the progress";
    return [
      { kind: "progress", title: "Progress, %", points },
      ...(left.length > 0 ? [{ kind: "remaining" as const, title, points: left }] : []),
    ];
  });
}

/** Returns the charts of all metrics, those of the page's own job first. */
function chartsOf(view: JobView, byJob: ReadonlyMap<string, JobCurves>): Chart[] {
  const charts = new Map<string, Chart>();
  shownJobs(view).forEach((key, place) => {
    const job = byJob.get(key);
    if (job === undefined) return;
    for (const { kind, title, points } of shownCurves(job)) {
      // A metric may be called as the progress is.
      const id = `${kind} ${title}`;
      const chart = charts.get(id) ?? { kind, title, lines: [] };
      charts.set(id, chart);
      const { marks } = job;
      const [label, startMs] = [labelOf(view, key), startOf(job)];
      chart.lines.push({ key, place, label, points, marks, startMs });
    }
  });
  return [...charts.values()].sort((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind));
}

/** The charts with the points of a time range, and what these were made of. */
function zoomedCharts(charts: readonly Chart[], zoomed: Zoomed | undefined) {
  return charts.map((chart) => {
    const curves = chart.lines.map(({ key }) =>
      chart.kind === "metric"
        ? zoomed?.byJob.get(key)?.find((it) => isMetric(it) && it.name === chart.title)
        : undefined
    );
    const lines = chart.lines.map((line, index) => {
      const { points = [], source } = curves[index] ?? {};
      return source === "log" ? { ...line, points: withFiner(line.points, points) } : line;
    });
    return { ...chart, lines, source: zoomed ? sourceText(zoomed, curves) : "" };
  });
}

function ScaleControls({ view }: { view: JobView }) {
  return (
    <>
      <Switch isOn={view.isLog} onChange={(isLog) => showJob(view, { isLog })}>Log axis</Switch>
      <Switch isOn={view.band} onChange={(band) => showJob(view, { band })}>Min–max band</Switch>
      <Switch
        isOn={view.axis === "elapsed"}
        onChange={(isOn) => showJob(view, { axis: isOn ? "elapsed" : "clock" })}
      >
        Time since start
      </Switch>
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

function MetricChoice({ view, names }: { view: JobView; names: readonly string[] }) {
  if (names.length < 2 && view.metrics.length === 0) return null;
  return (
    <details class="menu">
      <summary>
        Metrics {view.metrics.length > 0 && <span class="count">{view.metrics.length}</span>}
      </summary>
      <div>
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
      </div>
    </details>
  );
}

/** The jobs of the charts, each with the line it has in all of them. */
function JobLegend({ view, missing }: { view: JobView; missing: ReadonlySet<string> }) {
  if (view.compared.length === 0) return null;
  return (
    <ul class="row jobs-legend" aria-label="Jobs of the charts">
      {shownJobs(view).map((key, place) => {
        const job = jobNameOf(key);
        return (
          <li key={key}>
            <LineSample place={place} />
            {place === 0 || job === undefined
              ? <Hostile text={labelOf(view, key)} />
              : (
                <a href={viewFragment(jobView(job))}>
                  <Hostile text={labelOf(view, key)} />
                </a>
              )}
            {missing.has(key) && <span class="quiet">(gone, or not for you)</span>}
            {place > 0 && (
              <button
                type="button"
                class="small"
                aria-label={`Take ${key} away`}
                onClick={() =>
                  showJob(view, { compared: view.compared.filter((it) => it !== key) })}
              >
                ×
              </button>
            )}
          </li>
        );
      })}
    </ul>
  );
}

function MarkList({ job }: { job: JobCurves | undefined }) {
  if (job === undefined || job.marks.length === 0) return null;
  return (
    <section>
      <h2>Marks</h2>
      <ul class="marks">
        {job.marks.slice(-50).map(({ timeMs, kind, text }, index) => (
          <li key={`${timeMs} ${index}`}>
            <Moment timeMs={timeMs} />
            <b>{plainText(kind)}</b>
            <Hostile text={text} />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The curves. */
export function CurvesTab({ view, hasEnded }: { view: JobView; hasEnded: boolean }) {
  const [isAll, setAll] = useState(false);
  const state = curves.value;
  const jobs = shownJobs(view).join(" ");
  const charts = useMemo(
    () => state === undefined ? [] : chartsOf(view, state.byJob),
    [state?.byJob, jobs],
  );
  const [range, setRange] = useRange(view);
  const names = charts.filter(({ kind }) => kind === "metric").map(({ title }) => title);
  const wanted = charts.filter(({ title, kind }) =>
    view.metrics.length === 0 || kind !== "metric" || view.metrics.includes(title)
  );
  const chosen = isAll ? wanted : wanted.slice(0, FIRST_CHARTS);
  const zoomed = useZoomed(
    view.range && {
      range: view.range,
      jobs: shownJobs(view).flatMap((key) => {
        const job = state?.byJob.get(key);
        if (job === undefined) return [];
        return { key, zeroMs: view.axis === "elapsed" ? startOf(job) : 0 };
      }),
      metrics: chosen.filter(({ kind }) => kind === "metric").map(({ title }) => title)
        .slice(0, MOST_ZOOMED),
    },
  );
  const shown = useMemo(() => zoomedCharts(chosen, zoomed), [charts, zoomed, isAll, view.metrics]);
  return (
    <>
      <div class="row tools">
        <ScaleControls view={view} />
        <MetricChoice view={view} names={names} />
        <CompareChoice view={view} />
      </div>
      <JobLegend view={view} missing={state?.missing ?? new Set()} />
      {outage.value !== "" && (
        <p class="down-bar" role="alert">Curves cannot be had now: {plainText(outage.value)}</p>
      )}
      {state?.missing.has(keyOf(view)) && (
        <Notice title="No curves to show">
          <p>The job is gone, or you may not list its kind in this namespace.</p>
        </Notice>
      )}
      {charts.length === 0 && outage.value === "" && !state?.missing.has(keyOf(view)) && (
        state?.byJob.get(keyOf(view)) === undefined
          ? connection.value.phase !== "refused" && <Notice title="Loading curves…" />
          : (
            <Notice title={hasEnded ? "No curves" : "No curves yet"}>
              <p>
                {hasEnded
                  ? "The job has ended, and nothing that its pods may have pushed is kept."
                  : "A curve begins with the first metric or progress that a pod of the job pushes."}
              </p>
            </Notice>
          )
      )}
      {range && <RangeBar range={range} axis={view.axis} onRange={setRange} />}
      <div class="charts">
        {shown.map(({ title, kind, lines, source }) => (
          <MetricChart
            key={`${kind} ${title}`}
            title={title}
            lines={lines}
            scale={kind === "metric" ? view : { ...view, isLog: false, weight: 0 }}
            textOf={kind === "remaining" ? durationText : numberText}
            range={range}
            onRange={setRange}
            source={source}
          />
        ))}
      </div>
      {shown.length < wanted.length && (
        <p>
          <button type="button" onClick={() => setAll(true)}>
            Show {wanted.length - shown.length} more charts
          </button>
        </p>
      )}
      <MarkList job={state?.byJob.get(keyOf(view))} />
    </>
  );
}
