/** Monitoring by the Prometheus operator and Grafana's sidecar: scraping, alerts, dashboard. */
import { dashboard } from "./dashboard.ts";
import { labelled, type Manifest, SELECTOR, type Settings } from "./installation_settings.ts";

const OPERATOR = "monitoring.coreos.com/v1";

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly severity: "warning" | "critical";
  readonly summary: string;
  readonly description: string;
}

/** The alerts; `scope` is a label matcher for this installation. */
function alerts(scope: string): Alert[] {
  return [
    {
      alert: "MilepostDown",
      expr: `absent(milepost_leader{${scope}})`,
      for: "5m",
      severity: "critical",
      summary: "No replica of Milepost can be scraped",
      description:
        "TrainJobs are neither started nor followed. Look at the pods of the Deployment.",
    },
    {
      alert: "MilepostHasNoLeader",
      expr: `sum(milepost_leader{${scope}}) < 1`,
      for: "2m",
      severity: "critical",
      summary: "No replica of Milepost leads",
      description: "Nothing is reconciled and pushes get 503. Look at the Lease and at the logs.",
    },
    {
      alert: "MilepostCertificateEnds",
      expr: `min by (name) (milepost_certificate_expiry_seconds{${scope}}) < 259200`,
      for: "1h",
      severity: "warning",
      summary: "A certificate of Milepost expires in less than three days",
      description:
        "It should have been renewed long before. Look for errors about {{ $labels.name }}.",
    },
    {
      alert: "MilepostProgressIsLate",
      expr: `max(milepost_ledger_oldest_seconds{${scope}}) > 60`,
      for: "5m",
      severity: "warning",
      summary: "Progress has been waiting for more than a minute to be written",
      description: "Raise --status-writes-qps, or find out why the API server refuses writes.",
    },
    {
      alert: "MilepostCannotRecordTrials",
      expr: `sum(rate(milepost_observations_total{${scope},result="unavailable"}[10m])) > 0`,
      for: "10m",
      severity: "warning",
      summary: "Pushes of trials get 503: the observation log does not accept them",
      description: "The manager's log says why; look at Katib's DB manager and its database.",
    },
    {
      alert: "MilepostRefusesPushes",
      expr: `sum(rate(milepost_pushes_total{${scope},result!="accepted"}[10m])) ` +
        `> 0.1 * sum(rate(milepost_pushes_total{${scope}}[10m]))`,
      for: "15m",
      severity: "warning",
      summary: "More than a tenth of all pushes are refused",
      description:
        "The label result says why; docs/guides/troubleshooting.md says what to do about each.",
    },
    {
      alert: "MilepostReconcilesFail",
      expr: `sum by (controller) (rate(milepost_reconcile_total{${scope},` +
        `result="error"}[10m])) > 0.1`,
      for: "15m",
      severity: "warning",
      summary: "Reconciliations fail repeatedly",
      description: "The logs of controller {{ $labels.controller }} name the objects.",
    },
    {
      alert: "MilepostJobsStalled",
      expr: `sum(milepost_jobs_stalled{${scope}}) > 0`,
      for: "5m",
      severity: "warning",
      summary: "Jobs run and make no progress",
      description:
        "Each says since when in status.stalled; docs/guides/stalls.md says how to find out why.",
    },
    {
      alert: "MilepostQueueGrows",
      expr: `sum by (controller) (milepost_queue_depth{${scope}}) > 500`,
      for: "15m",
      severity: "warning",
      summary: "Objects wait long for a worker",
      description: "Look at the time of requests to the API server and at the CPU of the leader.",
    },
  ];
}

/** ServiceMonitor by which the Prometheus operator scrapes every replica. */
export function serviceMonitor({ name, namespace }: Settings): Manifest {
  return {
    apiVersion: OPERATOR,
    kind: "ServiceMonitor",
    metadata: labelled(name, namespace),
    spec: {
      selector: { matchLabels: { ...SELECTOR } },
      endpoints: [{ port: "metrics", path: "/metrics", interval: "30s" }],
    },
  };
}

/** The alerts as the Prometheus operator takes them. */
export function prometheusRule({ name, namespace }: Settings): Manifest {
  const rules = alerts(`namespace="${namespace}"`).map((
    { severity, summary, description, ...rule },
  ) => ({ ...rule, labels: { severity }, annotations: { summary, description } }));
  return {
    apiVersion: OPERATOR,
    kind: "PrometheusRule",
    metadata: labelled(name, namespace),
    spec: { groups: [{ name: "milepost", rules }] },
  };
}

/** The dashboard, where Grafana's sidecar looks for dashboards. */
export function dashboardConfigMap({ name, namespace }: Settings): Manifest {
  const metadata = labelled(`${name}-dashboard`, namespace);
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { ...metadata, labels: { ...metadata.labels, grafana_dashboard: "1" } },
    data: { "milepost.json": `${JSON.stringify(dashboard(), null, 2)}\n` },
  };
}
