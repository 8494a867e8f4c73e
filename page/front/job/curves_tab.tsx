/** Curves of a job and of those compared with it, and how they are shown. */
import { useMemo, useState } from "preact/hooks";
import { CompareChoice } from "./compare_choice.tsx";
import { MetricChoice, ScaleControls } from "./curve_controls.tsx";
import { LineSample } from "../charts/chart_legend.tsx";
import { ComparedConfiguration } from "./compared_configuration.tsx";
import { csvOf } from "./curves_csv.ts";
import { chartsOf, type ShownJob, stepsOf, timesOf, wholeOf } from "./job_charts.ts";
import { MetricChart } from "../charts/metric_chart.tsx";
import { Hostile, Moment, Notice } from "../marks_and_signs.tsx";
import { connection, curves, outage, showJob, shownJobs } from "../page_state.ts";
import { RangeBar, useRange } from "../charts/range_bar.tsx";
import { plainText } from "../readable_text.ts";
import { axisFor, jobNameOf, type JobView, jobView, viewFragment } from "../url_state.ts";
import { isMetric, type JobCurves, type Row } from "../feed/view_answers_read.ts";
import { keyOf } from "../feed/job_key.ts";
import { SearchMenu } from "../searches/search_line.tsx";
import { saveText } from "../saved_text.ts";
import { MOST_ZOOMED, sourceText, useZoomed } from "../charts/zoomed_curves.ts";

/** Charts that are drawn without being asked for. */
const FIRST_CHARTS = 12;

/** A job in a legend: its name, with its namespace if that is another. */
function labelOf(view: JobView, key: string): string {
  const job = jobNameOf(key);
  if (job === undefined) return key;
  return job.namespace === view.namespace ? job.name : `${job.namespace}/${job.name}`;
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
            {missing.has(key) && <span class="quiet">(not found)</span>}
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

/** Says which of the jobs have no place on an axis of steps. */
function StepNotice({ jobs }: { jobs: readonly ShownJob[] }) {
  const without = jobs.filter(({ curves }) => stepsOf(curves).length === 0);
  if (without.length === 0) return null;
  return (
    <p class="quiet">
      No steps were pushed by <Hostile text={without.map(({ label }) => label).join(", ")} />.{" "}
      Choose the axis Time to see {without.length === 1 ? "its" : "their"} curves.
    </p>
  );
}

/** The curves of a job with a mark where it stopped to make progress, if it has. */
function withStall(curves: JobCurves, { stalledSinceMs: timeMs, message = "" }: Partial<Row> = {}) {
  if (timeMs === undefined) return curves;
  return { ...curves, marks: [...curves.marks, { timeMs, kind: "stalled", text: message }] };
}

/** The curves. */
export function CurvesTab({ view, row }: { view: JobView; row: Row | undefined }) {
  const hasEnded = row?.endedMs !== undefined;
  const [isAll, setAll] = useState(false);
  const state = curves.value;
  const jobs = shownJobs(view).join(" ");
  const kept = useMemo(() =>
    shownJobs(view).flatMap((key): ShownJob[] => {
      const curves = state?.byJob.get(key);
      if (curves === undefined) return [];
      const shown = key === keyOf(view) ? withStall(curves, row) : curves;
      return [{ key, label: labelOf(view, key), curves: shown }];
    }), [state?.byJob, jobs, row?.stalledSinceMs, row?.message]);
  const own = kept.find(({ key }) => key === keyOf(view))?.curves;
  const hasSteps = own !== undefined && stepsOf(own).length > 0;
  const axis = axisFor(view, hasSteps);
  const whole = useMemo(() => wholeOf(kept, axis), [kept, axis]);
  const [range, setRange] = useRange(view, axis);
  const names = useMemo(
    () => [
      ...new Set(kept.flatMap((it) => it.curves.curves.filter(isMetric).map(({ name }) => name))),
    ],
    [kept],
  );
  const isChosen = (metric: string) => view.metrics.length === 0 || view.metrics.includes(metric);
  const times = new Map(kept.flatMap(({ key, curves }) => {
    const of = view.range && timesOf(curves, view.range, axis);
    return of === undefined ? [] : [[key, of] as const];
  }));
  const zoomed = useZoomed(
    view.range && {
      jobs: [...times].map(([key, of]) => ({ key, ...of })),
      // Over steps they need these, too.
      metrics: ["step", ...names.filter(isChosen)].slice(0, MOST_ZOOMED),
    },
  );
  const charts = useMemo(
    () =>
      chartsOf(
        kept.map((job) => {
          const [curves, of] = [zoomed?.byJob.get(job.key), times.get(job.key)];
          return { ...job, finer: curves && of && { curves, times: of } };
        }),
        axis,
      ),
    [kept, zoomed, axis],
  );
  const isEmpty = kept.every((it) => it.curves.curves.length === 0);
  const wanted = charts.filter(({ kind, title }) => kind !== "metric" || isChosen(title));
  const shown = isAll ? wanted : wanted.slice(0, FIRST_CHARTS);
  return (
    <>
      <div class="row tools">
        <ScaleControls view={view} axis={axis} hasSteps={hasSteps} />
        <MetricChoice view={view} names={names} />
        <CompareChoice view={view} />
        <SearchMenu keys={shownJobs(view)} />
        {!isEmpty && (
          <button
            type="button"
            onClick={() => saveText(`${view.name}.csv`, csvOf(shown, axis, range), "text/csv")}
          >
            CSV
          </button>
        )}
      </div>
      <JobLegend view={view} missing={state?.missing ?? new Set()} />
      {outage.value !== "" && (
        <p class="down-bar" role="alert">Curves are not available now: {plainText(outage.value)}</p>
      )}
      {state?.missing.has(keyOf(view)) && <Notice title="Job not found, or you lack access" />}
      {isEmpty && outage.value === "" && !state?.missing.has(keyOf(view)) && (
        own === undefined
          ? connection.value.phase !== "refused" && <Notice title="Loading curves…" />
          : (
            <Notice title={hasEnded ? "This job pushed no metrics" : "No metrics yet"}>
              {!hasEnded && <p>Curves appear when a pod of the job pushes metrics or progress.</p>}
            </Notice>
          )
      )}
      {axis === "step" && <StepNotice jobs={kept} />}
      {range && <RangeBar range={range} axis={axis} onRange={setRange} />}
      <div class="charts">
        {whole && shown.map(({ title, kind, lines }) => (
          <MetricChart
            key={`${kind} ${title}`}
            title={title}
            lines={lines}
            scale={kind === "metric"
              ? { ...view, axis }
              : { ...view, axis, isLog: false, weight: 0 }}
            whole={whole}
            range={range}
            onRange={setRange}
            source={zoomed && sourceText(zoomed, lines)}
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
      <ComparedConfiguration view={view} />
      <MarkList job={own} />
    </>
  );
}
