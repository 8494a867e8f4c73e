/** Grafana dashboard: the first graphs to look at when progress does not show or jobs do not start. */

/** One panel: its title, the unit of its axis, and queries with their legends. */
interface Panel {
  readonly title: string;
  readonly unit: string;
  readonly queries: Readonly<Record<string, string>>;
}

/** Rows from top to bottom; metrics as in `app/manager/metrics.ts`. */
const ROWS: readonly (readonly Panel[])[] = [
  [
    { title: "Leaders", unit: "short", queries: { "{{pod}}": "milepost_leader{$scope}" } },
    {
      title: "Time until certificates expire",
      unit: "s",
      queries: { "{{name}}": "min by (name) (milepost_certificate_expiry_seconds{$scope})" },
    },
    {
      title: "Reconciliations",
      unit: "ops",
      queries: {
        "{{controller}} {{result}}":
          "sum by (controller, result) (rate(milepost_reconcile_total{$scope}[$__rate_interval]))",
      },
    },
  ],
  [
    {
      title: "Pushes, by result",
      unit: "ops",
      queries: {
        "{{result}}": "sum by (result) (rate(milepost_pushes_total{$scope}[$__rate_interval]))",
        "forwarded: {{result}}":
          "sum by (result) (rate(milepost_forwarded_pushes_total{$scope}[$__rate_interval]))",
      },
    },
    {
      title: "Time of a push",
      unit: "s",
      queries: {
        "99 %": quantile(0.99, "milepost_push_seconds"),
        "50 %": quantile(0.5, "milepost_push_seconds"),
      },
    },
    {
      title: "Progress waiting to be written",
      unit: "short",
      queries: {
        "TrainJobs": "sum(milepost_ledger_pending{$scope})",
        "oldest, in seconds": "max(milepost_ledger_oldest_seconds{$scope})",
      },
    },
  ],
  [
    {
      title: "Writes of progress",
      unit: "ops",
      queries: {
        "{{result}}":
          "sum by (result) (rate(milepost_ledger_writes_total{$scope}[$__rate_interval]))",
        "dropped: {{cause}}":
          "sum by (cause) (rate(milepost_ledger_dropped_total{$scope}[$__rate_interval]))",
      },
    },
    {
      title: "Tokens",
      unit: "ops",
      queries: {
        "review: {{result}}":
          "sum by (result) (rate(milepost_token_reviews_total{$scope}[$__rate_interval]))",
        "cache: {{result}}":
          "sum by (result) (rate(milepost_token_cache_total{$scope}[$__rate_interval]))",
        "keys: {{result}}":
          "sum by (result) (rate(milepost_jwks_refreshes_total{$scope}[$__rate_interval]))",
      },
    },
    {
      title: "Time of a reconciliation, 99 %",
      unit: "s",
      queries: {
        "{{controller}}": "histogram_quantile(0.99, sum by (controller, le) " +
          "(rate(milepost_reconcile_seconds_bucket{$scope}[$__rate_interval])))",
      },
    },
  ],
  [
    {
      title: "Keys waiting for a worker",
      unit: "short",
      queries: { "{{controller}}": "sum by (controller) (milepost_queue_depth{$scope})" },
    },
    {
      title: "Requests to the API server",
      unit: "ops",
      queries: {
        "{{verb}} {{code}}":
          "sum by (verb, code) (rate(milepost_api_requests_total{$scope}[$__rate_interval]))",
      },
    },
    {
      title: "Restarted watches, and time of requests to the API server, 99 %",
      unit: "short",
      queries: {
        "{{resource}}":
          "sum by (resource) (rate(milepost_watch_restarts_total{$scope}[$__rate_interval]))",
        "{{verb}}, in seconds": "histogram_quantile(0.99, sum by (verb, le) " +
          "(rate(milepost_api_request_seconds_bucket{$scope}[$__rate_interval])))",
      },
    },
  ],
];

const SCOPE = 'namespace="$namespace"';
const SIZE = { width: 24, height: 8 } as const;
const DATASOURCE = { type: "prometheus", uid: "${datasource}" } as const;

function quantile(share: number, histogram: string): string {
  return `histogram_quantile(${share}, sum by (le) ` +
    `(rate(${histogram}_bucket{$scope}[$__rate_interval])))`;
}

function panel({ title, unit, queries }: Panel, id: number, gridPos: Record<string, number>) {
  return {
    id,
    title,
    type: "timeseries",
    datasource: DATASOURCE,
    gridPos,
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    options: { legend: { displayMode: "list", placement: "bottom", showLegend: true } },
    targets: Object.entries(queries).map(([legendFormat, expr], index) => ({
      refId: String.fromCharCode("A".charCodeAt(0) + index),
      datasource: DATASOURCE,
      expr: expr.replaceAll("$scope", SCOPE),
      legendFormat,
    })),
  };
}

/** The dashboard as Grafana imports it. */
export function dashboard(): Record<string, unknown> {
  const panels = ROWS.flatMap((row, y) => {
    const w = SIZE.width / row.length;
    return row.map((it, x) =>
      panel(it, 1 + x + 10 * y, { x: x * w, y: y * SIZE.height, w, h: SIZE.height })
    );
  });
  return {
    uid: "milepost",
    title: "Milepost",
    tags: ["milepost", "training"],
    schemaVersion: 39,
    version: 1,
    editable: true,
    refresh: "30s",
    time: { from: "now-3h", to: "now" },
    templating: {
      list: [
        { name: "datasource", type: "datasource", query: "prometheus", label: "Data source" },
        {
          name: "namespace",
          type: "query",
          label: "Namespace",
          datasource: DATASOURCE,
          query: "label_values(milepost_leader, namespace)",
          refresh: 2,
        },
      ],
    },
    panels,
  };
}
