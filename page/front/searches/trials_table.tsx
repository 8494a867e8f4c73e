/** Table of trials: headers that sort, links to the jobs, and why each was stopped. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Strategy } from "../../../crds/wire/searches.ts";
import { Hostile, ShortText, StateSign } from "../marks_and_signs.tsx";
import { now, showSearch } from "../page_state.ts";
import { moveFocus, SortHeader, Table, UnseenHeader } from "../tables.tsx";
import { durationText, numberText, parameterText, plainText, valueText } from "../readable_text.ts";
import { isOpen, type Search, type Trial } from "./search_answer.ts";
import type { SearchView } from "./search_view.ts";
import { pointing } from "./trial_lines.tsx";
import { sortedTrials, stopWords, tookMs } from "./trial_order.ts";
import { jobNameOf, jobView, viewFragment } from "../url_state.ts";

/** Rows that are drawn without being asked for, and metrics beside the objective. */
const [FIRST_ROWS, MOST_METRICS] = [200, 3];
/** Which value of a trial counts, in words. */
const STRATEGY_WORDS: Readonly<Record<Strategy, string>> = {
  min: "least",
  max: "greatest",
  latest: "newest",
};

function Header({ view, sort, children }: { view: SearchView; sort: string; children: string }) {
  const isSorted = view.sort === sort;
  const order = view.isDescending ? "descending" : "ascending";
  return (
    <SortHeader
      order={isSorted ? order : undefined}
      onSort={() => showSearch({ sort, isDescending: isSorted && !view.isDescending })}
    >
      <ShortText text={children} most={24} />
    </SortHeader>
  );
}

/** The value that counts; else what was said of it at last, such as NaN; else what its curve ends with. */
function Value({ trial, said, newest }: {
  trial: Trial;
  said: string | undefined;
  newest: number | undefined;
}) {
  if (trial.value !== undefined) return <>{numberText(trial.value)}</>;
  if (said !== undefined) return <>{valueText(said)}</>;
  if (newest === undefined) return <span class="quiet">–</span>;
  return <span class="quiet">{numberText(newest)} {isOpen(trial) ? "now" : "at last"}</span>;
}

function Row({ trial, parameters, view, isBest, value, seenStop, metrics }: {
  trial: Trial;
  parameters: Search["parameters"];
  view: SearchView;
  isBest: boolean;
  value: ComponentChildren;
  seenStop: string;
  metrics: readonly number[];
}) {
  const isMarked = view.trial === trial.name;
  const job = jobNameOf(trial.job);
  const took = tookMs(trial, now.value);
  return (
    <tr class={isMarked ? "marked" : undefined} {...pointing(trial.name)}>
      <td class="pick">
        <input
          type="checkbox"
          checked={isMarked}
          aria-label={`Mark ${plainText(trial.name)} in the charts`}
          onChange={() => showSearch({ trial: isMarked ? "" : trial.name }, true)}
        />
      </td>
      <td>
        <StateSign state={trial.state} />
      </td>
      <td class="name">
        {job === undefined ? <Hostile text={trial.name} /> : (
          <a href={viewFragment(jobView(job))}>
            <Hostile text={trial.name} />
          </a>
        )}
        {isBest && <b class="best-word">★ the best</b>}
      </td>
      <td class="number">{value}</td>
      {trial.values.map((value, index) => (
        <td key={index} class="number value">
          {value === undefined
            ? <span class="quiet">–</span>
            : <ShortText text={parameterText(value, parameters[index]?.scale)} most={24} />}
        </td>
      ))}
      {metrics.map((index) => (
        <td key={index} class="number">{valueText(trial.metrics[index] ?? "–")}</td>
      ))}
      <td class="number">{took === undefined ? "–" : durationText(took / 1000)}</td>
      <td class="wrap why">
        {trial.stop !== undefined
          ? <Hostile text={stopWords(trial.stop, seenStop)} />
          : trial.message !== "" && <Hostile text={trial.message} />}
      </td>
    </tr>
  );
}

/** The table. `newest` and `stops`: what curves say of trials, by their names. */
export function TrialsTable({ view, search, newest, stops, isShown }: {
  view: SearchView;
  search: Search;
  newest: ReadonlyMap<string, number>;
  stops: ReadonlyMap<string, string>;
  isShown: (trial: Trial) => boolean;
}) {
  const [isAll, setAll] = useState(false);
  const { parameters, objective, best } = search;
  const metrics = search.metrics.flatMap((name, index) => name === objective?.metric ? [] : [index])
    .slice(0, MOST_METRICS);
  const own = search.metrics.indexOf(objective?.metric ?? "");
  const sorted = sortedTrials(search, view).filter(isShown);
  const rows = isAll ? sorted : sorted.slice(0, FIRST_ROWS);
  const headers = (
    <>
      <UnseenHeader text="Marked" />
      <Header view={view} sort="state">State</Header>
      <Header view={view} sort="name">Trial</Header>
      <Header view={view} sort="value">{objective?.metric ?? "Objective"}</Header>
      {parameters.map(({ name }) => (
        <Header key={name} view={view} sort={`p:${name}`}>{name}</Header>
      ))}
      {metrics.map((index) => {
        const name = search.metrics[index] ?? "";
        return <Header key={index} view={view} sort={`m:${name}`}>{name}</Header>;
      })}
      <Header view={view} sort="took">Took</Header>
      <Header view={view} sort="stop">Stopped early by</Header>
    </>
  );
  return (
    <>
      {objective && (
        <p class="quiet">
          Of <Hostile text={objective.metric} /> the {STRATEGY_WORDS[objective.strategy]}{" "}
          value of each trial{metrics.length > 0 && ", of other metrics the newest"}.
        </p>
      )}
      <Table label="Trials" kind="trials" headers={headers} onKeyDown={moveFocus}>
        {rows.map((trial) => (
          <Row
            key={trial.name}
            trial={trial}
            parameters={parameters}
            view={view}
            isBest={trial.name === best}
            value={
              <Value trial={trial} said={trial.metrics[own]} newest={newest.get(trial.name)} />
            }
            seenStop={stops.get(trial.name) ?? ""}
            metrics={metrics}
          />
        ))}
      </Table>
      {rows.length < sorted.length && (
        <p>
          <button type="button" onClick={() => setAll(true)}>
            Show {sorted.length - rows.length} more trials
          </button>
        </p>
      )}
    </>
  );
}
