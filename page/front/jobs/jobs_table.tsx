/** Table of jobs: headers that sort, and rows that are drawn anew only when they change. */
import { Component } from "preact";
import { orderMetric, shownMetrics, sparklines } from "./list_sparklines.ts";
import { Age, Hostile, Progress, Remaining, StateSign } from "../marks_and_signs.tsx";
import { showList, view as current } from "../page_state.ts";
import { moveFocus, OrderSign, type RowOrder, SortHeader, Table } from "../tables.tsx";
import { shortKind, shortText, valueText } from "../readable_text.ts";
import type { MOST_FIRST } from "../../../crds/wire/row.ts";
import { variedNames } from "../../../platform/base/varied_names.ts";
import { sparkPath } from "../charts/line_paths.ts";
import { jobView, type ListView, MOST_PICKED, type Sort, viewFragment } from "../url_state.ts";
import { isMetric, type JobCurves, type Row } from "../feed/view_answers_read.ts";
import { keyOf } from "../feed/job_key.ts";

const SPARK = { width: 72, height: 18 };

function Sparkline({ curves, name }: { curves: JobCurves | undefined; name: string }) {
  const points = curves?.curves.find((it) => it.name === name && isMetric(it))?.points ?? [];
  const path = sparkPath(points.map(([time, , , last]) => [time, last]), SPARK);
  return (
    <svg class="spark" {...SPARK} viewBox={`0 0 ${SPARK.width} ${SPARK.height}`} aria-hidden="true">
      {path !== undefined && <path d={path} />}
    </svg>
  );
}

interface RowProps {
  readonly row: Row;
  readonly curves: JobCurves | undefined;
  readonly isPicked: boolean;
  /** The metric that stands before the others. */
  readonly first: string;
  /** Settings in which the jobs of the list differ. */
  readonly varied: readonly string[];
}

/** Whether its message matters more than what it measures. */
const isFailing = ({ state, restarts, stalledSinceMs }: Row) =>
  state === "Failed" || restarts !== undefined || stalledSinceMs !== undefined;

class JobRow extends Component<RowProps> {
  override shouldComponentUpdate(next: RowProps): boolean {
    const { row, curves, isPicked, first, varied } = this.props;
    return next.row !== row || next.curves !== curves || next.isPicked !== isPicked ||
      next.first !== first || next.varied.join() !== varied.join();
  }

  override render({ row, curves, isPicked, first, varied }: RowProps) {
    const metrics = shownMetrics(row, first);
    const settings = row.configuration.filter(([name]) => varied.includes(name));
    return (
      <tr>
        <td class="pick">
          <input
            type="checkbox"
            aria-label={`Select ${row.namespace}/${row.name}`}
            checked={isPicked}
            onChange={({ currentTarget }) => pick([keyOf(row)], currentTarget.checked)}
          />
        </td>
        <td>
          <StateSign {...row} />
        </td>
        <td class="name">
          <a href={viewFragment(jobView(row))} title={row.message}>
            <Hostile text={row.name} />
          </a>
          <span class="quiet">
            <Hostile text={row.namespace} /> · {shortKind(row.kind)}
          </span>
        </td>
        <td>
          <Progress percent={row.progress} label={`Progress of ${row.name}`} />
        </td>
        <td class="number" data-label="Time left">
          <Remaining seconds={row.remainingSeconds} />
        </td>
        <td class="wide">
          <ul class="metrics">
            {metrics.map(({ name, value }) => (
              <li key={name}>
                <span class="label" title={name}>
                  <Hostile text={name} />
                </span>
                <Sparkline curves={curves} name={name} />
                <span class="number">{valueText(value)}</span>
              </li>
            ))}
            {(row.metrics.length === 0 || isFailing(row)) && row.message !== undefined && (
              <li class="quiet message">
                <Hostile text={row.message} />
              </li>
            )}
            {row.metrics.length > metrics.length && (
              <li class="quiet">{row.metrics.length - metrics.length} more</li>
            )}
            {settings.map(([name, text]) => (
              <li key={`setting ${name}`} class="setting">
                <Hostile text={name} /> <b>{text === "" ? "–" : <Hostile text={text} />}</b>
              </li>
            ))}
          </ul>
        </td>
        <td class="number" data-label="Age">
          <Age sinceMs={row.createdMs} />
        </td>
      </tr>
    );
  }
}

/** Columns whose first order begins with the most. */
const DESCENDING: readonly Sort[] = [
  "progress",
  "created",
  "updated",
] satisfies typeof MOST_FIRST;

const other = (order: RowOrder) => order === "ascending" ? "descending" : "ascending";

function Header({ view, sort, children }: { view: ListView; sort: Sort; children: string }) {
  const isSorted = view.sort === sort;
  const first = DESCENDING.includes(sort) ? "descending" : "ascending";
  const order = view.order ?? first;
  // The age grows as the time of creation falls.
  const shown = sort === "created" ? other(order) : order;
  return (
    <SortHeader
      order={isSorted ? shown : undefined}
      onSort={() => showList(view, { sort, order: isSorted ? other(order) : first })}
    >
      {children}
    </SortHeader>
  );
}

function MetricHeader({ view, names }: { view: ListView; names: readonly string[] }) {
  const isSorted = view.sort === "metric";
  const { order = "ascending" } = view;
  const all = [...new Set([...names, ...(isSorted ? [view.sortMetric] : [])])];
  return (
    <th scope="col" aria-sort={isSorted ? order : undefined}>
      <label>
        <span>Newest values, sort by</span>
        <select
          value={isSorted ? view.sortMetric : ""}
          onChange={({ currentTarget: { value } }) =>
            showList(
              view,
              value === ""
                ? { sort: "created", sortMetric: "" }
                : { sort: "metric", sortMetric: value },
            )}
        >
          <option value="">–</option>
          {all.map((name) => <option key={name} value={name}>{shortText(name, 40)}</option>)}
        </select>
      </label>
      {isSorted && (
        <button
          type="button"
          aria-label="Reverse the order"
          onClick={() => showList(view, { order: other(order) })}
        >
          <OrderSign order={order} />
        </button>
      )}
    </th>
  );
}

/** Moves the focus from job to job. */
function moveFromLink(event: KeyboardEvent) {
  if (event.target instanceof HTMLAnchorElement) moveFocus(event);
}

/** The table. */
export function JobsTable({ view, rows }: { view: ListView; rows: readonly Row[] }) {
  const keys = rows.map(keyOf);
  const varied = variedNames(rows.map(({ configuration }) => new Map(configuration)));
  const names = rows.flatMap(({ metrics }) => metrics.map(({ name }) => name));
  const headers = (
    <>
      <th scope="col" class="pick">
        <input
          type="checkbox"
          aria-label="Select all rows"
          checked={keys.every((it) => view.picked.includes(it))}
          onChange={({ currentTarget }) => pick(keys, currentTarget.checked)}
        />
      </th>
      <Header view={view} sort="state">State</Header>
      <Header view={view} sort="name">Job</Header>
      <Header view={view} sort="progress">Progress</Header>
      <Header view={view} sort="remaining">Time left</Header>
      <MetricHeader view={view} names={names} />
      <Header view={view} sort="created">Age</Header>
    </>
  );
  return (
    <Table
      label="Jobs"
      kind="jobs"
      headers={headers}
      above={view.hasConfiguration && varied.length === 0 && (
        <p class="quiet">The configuration of these jobs does not differ.</p>
      )}
      onKeyDown={moveFromLink}
    >
      {rows.map((row) => (
        <JobRow
          key={row.uid}
          row={row}
          curves={sparklines.value.get(keyOf(row))}
          isPicked={view.picked.includes(keyOf(row))}
          first={orderMetric(view)}
          varied={varied}
        />
      ))}
    </Table>
  );
}

/** Selects jobs, or not any more. */
function pick(keys: readonly string[], isPicked: boolean) {
  const it = current.value;
  if (it.page !== "jobs") return;
  const others = it.picked.filter((key) => !keys.includes(key));
  const picked = isPicked ? [...others, ...keys].slice(-MOST_PICKED) : others;
  showList(it, { picked, offset: it.offset }, true);
}
