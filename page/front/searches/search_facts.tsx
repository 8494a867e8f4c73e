/** Surroundings of the charts of a search: facts, controls, causes of stops, and missing parts. */
import { answerDirection, answeredDirection, DirectionQuestion } from "./asked_direction.tsx";
import { Choice } from "../form_fields.tsx";
import { Age, Fact, Hostile, Switch } from "../marks_and_signs.tsx";
import { showSearch } from "../page_state.ts";
import { numberText, plainText } from "../readable_text.ts";
import type { Reading } from "../feed/repeated_reading.ts";
import type { Search } from "./search_answer.ts";
import { DIRECTIONS, EXPERIMENTS, type SearchView } from "./search_view.ts";
import { FIRST_VIEW, viewFragment } from "../url_state.ts";

/** What the search is, and how far. */
export function Facts({ search }: { search: Search }) {
  const { objective, counts, notes, best, trials } = search;
  const bestValue = trials.find(({ name }) => name === best)?.value;
  return (
    <dl class="facts">
      <Fact name="Objective">
        {objective === undefined ? "not known yet" : (
          <>
            {objective.direction} <Hostile text={objective.metric} />
            {objective.goal !== undefined && `, until ${numberText(objective.goal)}`}
          </>
        )}
      </Fact>
      {bestValue !== undefined && (
        <Fact name="Best so far">
          <span class="number">{numberText(bestValue)}</span>{" "}
          <span class="quiet">
            of <Hostile text={best} />
          </span>
        </Fact>
      )}
      <Fact name="Trials">
        <span class="number">{counts.total}</span>
      </Fact>
      <Fact name={search.endedMs === undefined ? "Age" : "Took"}>
        <Age sinceMs={search.createdMs} endMs={search.endedMs} />
      </Fact>
      {notes.map(({ name, text }) => (
        <Fact key={name} name={name}>
          <Hostile text={text} />
        </Fact>
      ))}
    </dl>
  );
}

/** By what trials are compared, and how. */
export function Controls({ view, search }: { view: SearchView; search: Search }) {
  const { objective, metrics } = search;
  const names = [...new Set([...(objective ? [objective.metric] : []), ...metrics])];
  return (
    <div class="row tools">
      <Choice
        label="Compare by"
        value={objective?.metric ?? ""}
        options={names.map((name) => [name, plainText(name)])}
        onChange={(metric) => showSearch({ metric, direction: "" })}
      />
      {objective?.direction === "" ? <DirectionQuestion metric={objective.metric} /> : (
        <Choice
          label="Goal"
          value={objective?.direction ?? ""}
          options={DIRECTIONS.map((it) => [it, it])}
          onChange={(value) => {
            const direction = value === "maximize" ? value : "minimize";
            // An answer that was wrong is asked for no more.
            const { metric } = objective ?? { metric: "" };
            if (answeredDirection(metric) !== "") answerDirection(metric, direction);
            showSearch({ direction });
          }}
        />
      )}
      <Switch isOn={view.isLog} onChange={(isLog) => showSearch({ isLog })}>Log axis</Switch>
      {view.kind === EXPERIMENTS && (
        <a
          class="button"
          href={viewFragment({
            ...FIRST_VIEW,
            experiment: view.name,
            namespaces: [view.namespace],
          })}
        >
          Jobs with its label
        </a>
      )}
    </div>
  );
}

/** What stopped which trials. */
export function Stops({ search }: { search: Search }) {
  if (search.stops.length === 0) return null;
  return (
    <section class="chart">
      <h2>Early stops</h2>
      <ul class="stops">
        {search.stops.slice(0, 20).map(({ text, trials }) => (
          <li key={text}>
            <p>
              <b>
                <Hostile text={text} />
              </b>{" "}
              <span class="quiet">
                stopped {trials.length} {trials.length === 1 ? "trial" : "trials"}
              </span>
            </p>
            <p class="row">
              {trials.slice(0, 12).map((name) => (
                <button
                  key={name}
                  type="button"
                  class="small"
                  aria-label={`Mark ${plainText(name)}`}
                  onClick={() => showSearch({ trial: name }, true)}
                >
                  <Hostile text={name} />
                </button>
              ))}
              {trials.length > 12 && (
                <span class="quiet">and {trials.length - 12} more, in the table</span>
              )}
            </p>
          </li>
        ))}
      </ul>
      {search.stops.length > 20 && (
        <p class="quiet">{search.stops.length - 20} more causes are in the table.</p>
      )}
    </section>
  );
}

/** What is shown is not all, or not of now. */
export function Limits(
  { search, problem }: { search: Search; problem: Reading<Search>["problem"] },
) {
  return (
    <>
      {problem !== undefined && (
        <p class="down-bar" role="alert">
          {problem.status === 404
            ? "This search was deleted. This is what was last read of it."
            : `Not up to date: ${plainText(problem.message)}`}
        </p>
      )}
      {search.denied.length > 0 && (
        <p class="denied">
          You lack access to some of it: <Hostile text={search.denied.join(", ")} />
        </p>
      )}
      {search.isCut && (
        <p class="denied">
          There are more trials than these{" "}
          {search.trials.length}. The best trial and all counts are of at most 1,000.
        </p>
      )}
    </>
  );
}
