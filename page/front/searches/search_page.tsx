/** Page of one search: the best so far, all curves, its parameters, what stopped what, and its trials. */
import { useEffect, useMemo } from "preact/hooks";
import { answeredDirection } from "./asked_direction.tsx";
import { BestChart } from "./best_chart.tsx";
import { Hostile, Notice, StateSign, Switch } from "../marks_and_signs.tsx";
import { curvesOf } from "../feed/curve_requests.ts";
import { pathOf } from "../feed/job_key.ts";
import { call, connection, isStale, showSearch } from "../page_state.ts";
import { ParallelAxes } from "../charts/parallel_axes.tsx";
import { plainText } from "../readable_text.ts";
import { type Reading, useReading, useRepeated } from "../feed/repeated_reading.ts";
import {
  chosenTrials,
  isOpen,
  MOST_CURVES,
  readSearch,
  type Search,
  type Trial,
} from "./search_answer.ts";
import { Controls, Facts, Limits, Stops } from "./search_facts.tsx";
import { Unread } from "../unread.tsx";
import { FIRST_SEARCHES, type SearchView } from "./search_view.ts";
import { isWithin, trialAxes } from "./trial_axes.ts";
import { type TrialAxis, TrialCurves } from "./trial_curves.tsx";
import { TrialLegend } from "./trial_lines.tsx";
import { TrialsTable } from "./trials_table.tsx";
import { viewFragment } from "../url_state.ts";
import { type CurveNews, isMetric, type JobCurves } from "../feed/view_answers_read.ts";
import { stepsOf } from "../job/job_charts.ts";

/** Time between two readings of the search and of curves that grow, and of those that do not, in milliseconds. */
const [EVERY_MS, SELDOM_MS] = [3_000, 60_000];

/** Reads the curves of trials again and again. */
function useCurvesOf(trials: readonly Trial[], metric: string, everyMs: number) {
  const keys = trials.map(({ job }) => job);
  const parameters = [
    ...(metric === "" ? [] : [["metric", metric], ["metric", "step"]] as const),
    ["points", "64"] as const,
  ];
  const begin = () => (signal: AbortSignal) =>
    curvesOf(keys, parameters, (path) => call(path, { signal }));
  return useRepeated(keys.length === 0 ? "" : [...keys, metric].join(" "), begin, everyMs, "");
}

/** Reads the curves of trials: of those that run often, of the others seldom. */
function useCurves(trials: readonly Trial[], metric: string) {
  const [open, ended] = [trials.filter(isOpen), trials.filter((it) => !isOpen(it))];
  const running = useCurvesOf(open, metric, EVERY_MS);
  const over = useCurvesOf(ended, metric, SELDOM_MS);
  const all = useMemo(() => {
    const keys = new Set(open.map(({ job }) => job));
    const jobsOf = ({ value }: Reading<CurveNews>) => value?.jobs ?? [];
    const jobs = [
      ...jobsOf(running),
      ...jobsOf(over).filter(({ key }) => !keys.has(key)),
    ];
    return new Map(jobs.map((job) => [job.key, job]));
  }, [running.value, over.value, trials]);
  const isRead = ({ value }: Reading<CurveNews>, of: readonly Trial[]) =>
    of.length === 0 || value !== undefined;
  return {
    curves: all,
    problem: running.problem ?? over.problem,
    isLoading: !isRead(running, open) || !isRead(over, ended),
  };
}

/** What curves say of trials: the newest value of those that run, and what stopped the others. */
function saidByCurves(
  { trials, objective }: Search,
  curves: ReadonlyMap<string, JobCurves>,
) {
  const newest = new Map<string, number>();
  const stops = new Map<string, string>();
  for (const trial of trials) {
    const own = curves.get(trial.job);
    if (own === undefined) continue;
    const curve = own.curves.find((it) => it.name === objective?.metric && isMetric(it));
    const value = curve?.points.at(-1)?.[3];
    if (value !== undefined) newest.set(trial.name, value);
    const stop = own.marks.findLast(({ kind }) => kind === "stopped");
    if (stop !== undefined) stops.set(trial.name, stop.text);
  }
  return { newest, stops };
}

function Charts({ view, search }: { view: SearchView; search: Search }) {
  const shown = useMemo(() => chosenTrials(search, view.trial), [search, view.trial]);
  const metric = search.objective?.metric ?? "";
  const { curves, problem, isLoading } = useCurves(shown, metric);
  const said = useMemo(() => saidByCurves(search, curves), [search, curves]);
  const axes = useMemo(() => trialAxes(search, view.isLog), [search, view.isLog]);
  const stepped = shown.filter(({ job }) => stepsOf(curves.get(job) ?? { curves: [] }).length > 0);
  const axis: TrialAxis = view.isByTime || stepped.length === 0 ? "elapsed" : "step";
  const withJob = search.trials.filter(({ job }) => job !== "").length;
  return (
    <>
      <TrialLegend counts={search.counts} best={search.best} />
      <div class="charts wide">
        <figure class="chart">
          <figcaption>
            <h2>
              The best <Hostile text={metric} /> so far
            </h2>
            <span class="quiet">by end time</span>
          </figcaption>
          <BestChart search={search} isLog={view.isLog} marked={view.trial} />
        </figure>
        <figure class="chart">
          <figcaption>
            <h2>
              Curves of <Hostile text={metric} />
            </h2>
            <span class="quiet">
              {withJob > MOST_CURVES
                ? `${shown.length} of ${withJob}: the best, those that run, the newest`
                : axis === "elapsed"
                ? "since the first value of each"
                : stepped.length < shown.length
                ? `of the ${stepped.length} trials that pushed steps`
                : ""}
            </span>
            {stepped.length > 0 && (
              <Switch
                isOn={axis === "step"}
                onChange={(isOn) => showSearch({ isByTime: !isOn })}
              >
                Over steps
              </Switch>
            )}
          </figcaption>
          {problem !== undefined && (
            <p class="problem">Curves are not available now: {plainText(problem.message)}</p>
          )}
          <TrialCurves
            trials={shown}
            curves={curves}
            isLoading={isLoading && problem === undefined}
            metric={metric}
            isLog={view.isLog}
            axis={axis}
            best={search.best}
            marked={view.trial}
          />
        </figure>
      </div>
      {axes.length > 1 && (
        <figure class="chart">
          <figcaption>
            <h2>Parameters</h2>
            <span class="quiet">
              {search.trials.length > 500 ? "the newest 500 trials" : "a line for each trial"}
            </span>
          </figcaption>
          <ParallelAxes
            search={search}
            axes={axes}
            brushes={view.brushes}
            marked={view.trial}
          />
        </figure>
      )}
      <Stops search={search} />
      <h2 class="table-title">
        {view.brushes.length === 0 ? "Trials" : "Trials in the selected ranges"}
      </h2>
      <TrialsTable
        view={view}
        search={search}
        newest={said.newest}
        stops={said.stops}
        isShown={(trial) => isWithin(trial, axes, view.brushes)}
      />
    </>
  );
}

/** The page. */
export function SearchPage({ view }: { view: SearchView }) {
  const query = new URLSearchParams([
    ...(view.metric === "" ? [] : [["metric", view.metric]]),
    ...(view.direction === "" ? [] : [["direction", view.direction]]),
  ]);
  const { value: search, problem } = useReading(
    `${pathOf("searches", view)}?${query}`,
    readSearch,
    EVERY_MS,
    connection.value.phase,
  );
  // What was answered before is asked for as if it were chosen now.
  const asked = search?.objective?.direction === "" ? search.objective.metric : undefined;
  const answered = asked === undefined ? "" : answeredDirection(asked);
  useEffect(() => {
    if (answered !== "" && view.direction === "") showSearch({ direction: answered }, true);
  }, [answered, view.direction]);
  return (
    <div class={isStale.value || (search && problem) ? "stale" : undefined}>
      <header class="job">
        <p class="quiet">
          <a href={viewFragment(FIRST_SEARCHES)}>Trials</a> /{" "}
          <a href={viewFragment({ ...FIRST_SEARCHES, namespaces: [view.namespace] })}>
            <Hostile text={view.namespace} />
          </a>
        </p>
        <div class="row">
          <h1>
            <Hostile text={view.name} />
          </h1>
          {search !== undefined && <StateSign state={search.state} />}
        </div>
        {search !== undefined && search.message !== "" && (
          <p>
            <Hostile text={search.message} />
          </p>
        )}
        {search !== undefined && <Facts search={search} />}
      </header>
      {search === undefined
        ? (
          <Unread what="this search" problem={problem}>
            <p>
              <a class="button" href={viewFragment(FIRST_SEARCHES)}>Show all searches</a>
            </p>
          </Unread>
        )
        : (
          <>
            <Limits search={search} problem={problem} />
            <Controls view={view} search={search} />
            {search.trials.length === 0
              ? (
                <Notice title="No trials yet">
                  <p>Trials appear here when they are created.</p>
                </Notice>
              )
              : <Charts view={view} search={search} />}
          </>
        )}
    </div>
  );
}
