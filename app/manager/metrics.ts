/** Metrics of the manager. */
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { JobCount, JobMetrics } from "../../controller/jobs/job_metrics.ts";
import type { SinkMetrics } from "../../katib/log/sink_choice.ts";

const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Creates a set of series, each named `milepost_…` but for those that dashboards know from the Training Operator. */
export function createMetrics() {
  const registry = new Registry();
  const counter = <Label extends string>(name: string, help: string, labelNames: Label[] = []) =>
    new Counter({ name: `milepost_${name}`, help, labelNames, registers: [registry] });
  const gauge = <Label extends string>(name: string, help: string, labelNames: Label[] = []) =>
    new Gauge({ name: `milepost_${name}`, help, labelNames, registers: [registry] });
  const histogram = <Label extends string>(name: string, help: string, labelNames: Label[] = []) =>
    new Histogram({
      name: `milepost_${name}`,
      help,
      labelNames,
      buckets: SECONDS,
      registers: [registry],
    });
  const operators = <Label extends string>(name: string, help: string, labelNames: Label[] = []) =>
    new Counter({ name, help, labelNames, registers: [registry] });
  const v1Jobs = (what: JobCount, help: string) =>
    operators(`training_operator_jobs_${what}_total`, help, ["job_namespace", "framework"]);
  return {
    registry,
    reconcileTotal: counter("reconcile_total", "Reconciliations that ended.", [
      "controller",
      "result",
    ]),
    reconcileSeconds: histogram("reconcile_seconds", "Time of a reconciliation.", ["controller"]),
    queueDepth: gauge("queue_depth", "Keys that wait for a worker.", ["controller"]),
    watchRestarts: counter("watch_restarts_total", "Watches restarted after an error.", [
      "resource",
    ]),
    skippedObjects: counter("skipped_objects_total", "Objects that are too large or unreadable.", [
      "resource",
    ]),
    apiRequests: counter("api_requests_total", "Requests to the API server.", [
      "verb",
      "resource",
      "code",
    ]),
    apiRequestSeconds: histogram("api_request_seconds", "Time of a request to the API server.", [
      "verb",
    ]),
    pushes: counter("pushes_total", "Pushes answered, by result.", ["result"]),
    pushSeconds: histogram("push_seconds", "Time from a push's headers to its answer."),
    forwardedPushes: counter("forwarded_pushes_total", "Pushes handed to the owner, by result.", [
      "result",
    ]),
    reads: counter("reads_total", "Reads of a status, and beginnings of streams, by result.", [
      "kind",
      "result",
    ]),
    stopRequests: counter("stop_requests_total", "Requests to stop jobs early, by result.", [
      "result",
    ]),
    restartRequests: counter("restart_requests_total", "Requests to restart jobs, by result.", [
      "result",
    ]),
    openStreams: gauge("open_streams", "Streams of events that are open on this replica."),
    connectionsShed: counter(
      "connections_shed_total",
      "New connections that were closed because the process had too much to do.",
    ),
    jobsStalled: gauge("jobs_stalled", "Jobs that run and make no progress."),
    jobSeconds: counter("job_seconds_total", "Time of jobs that report, by what it went to.", [
      "phase",
    ]),
    restarts: counter("restarts_total", "Restarts of jobs as a whole, by cause.", ["cause"]),
    notifications: counter("notifications_total", "Notices of jobs, by sink and result.", [
      "sink",
      "result",
    ]),
    ledgerPending: gauge("ledger_pending", "TrainJobs whose newest progress is unwritten."),
    ledgerOldestSeconds: gauge("ledger_oldest_seconds", "Age of the oldest unwritten one."),
    ledgerWrites: counter("ledger_writes_total", "Writes of progress to TrainJobs.", ["result"]),
    ledgerDropped: counter("ledger_dropped_total", "Progress that was never written.", ["cause"]),
    tokenReviews: counter("token_reviews_total", "TokenReviews, by result.", ["result"]),
    tokenCache: counter("token_cache_total", "Look-ups of reviewed tokens.", ["result"]),
    jwksRefreshes: counter("jwks_refreshes_total", "Reads of the API server's keys.", ["result"]),
    observations: counter("observations_total", "Rows of observation logs, by result.", [
      "sink",
      "result",
    ]),
    observationSeconds: histogram("observation_seconds", "Time until rows were in their log.", [
      "sink",
    ]),
    trialsOpen: gauge("trials_open", "Jobs with early-stopping rules that have not ended."),
    trialsStopped: counter("trials_stopped_total", "Jobs that were stopped early."),
    // The names are the Training Operator's, which has no prefix for some.
    jobsCreated: v1Jobs("created", "Jobs of kubeflow.org/v1 that were begun."),
    jobsDeleted: v1Jobs("deleted", "Those that were deleted after their time to live."),
    jobsSuccessful: v1Jobs("successful", "Those that succeeded."),
    jobsFailed: v1Jobs("failed", "Those that failed."),
    jobsRestarted: v1Jobs("restarted", "Restarts of failed replicas of those."),
    createdPods: operators("created_pods_total", "Pods created for kubeflow.org/v1."),
    deletedPods: operators("deleted_pods_total", "Pods deleted for kubeflow.org/v1."),
    failedPods: operators("failed_pods_total", "Pods that could not be created."),
    succeededServiceCreations: operators(
      "succeeded_service_creation_total",
      "Services created for kubeflow.org/v1.",
    ),
    failedServiceCreations: operators(
      "failed_service_creation_total",
      "Services that could not be created.",
    ),
    createdPodGroups: operators("created_pod_groups_total", "Pod groups created."),
    deletedPodGroups: operators("deleted_pod_groups_total", "Pod groups deleted."),
    certificateExpiry: gauge("certificate_expiry_seconds", "Seconds until a certificate expires.", [
      "name",
    ]),
    leader: gauge("leader", "1 if this replica leads."),
  };
}

/** All series of one manager; several managers in a process do not share them. */
export type Metrics = ReturnType<typeof createMetrics>;

/** The series of observation logs, as a sink feeds them. */
export function sinkMetrics(
  { observations, observationSeconds }: Pick<Metrics, "observations" | "observationSeconds">,
): SinkMetrics {
  return {
    rows: (sink, result, count) => observations.inc({ sink, result }, count),
    appended: (sink, seconds) => observationSeconds.observe({ sink }, seconds),
  };
}

/** The series of the v1 kinds, as their engine feeds them. */
export function jobMetrics(metrics: Metrics): JobMetrics {
  const created = {
    pod: metrics.createdPods,
    service: metrics.succeededServiceCreations,
    podGroup: metrics.createdPodGroups,
  };
  const counted = {
    created: metrics.jobsCreated,
    deleted: metrics.jobsDeleted,
    successful: metrics.jobsSuccessful,
    failed: metrics.jobsFailed,
    restarted: metrics.jobsRestarted,
  };
  const failed = { pod: metrics.failedPods, service: metrics.failedServiceCreations };
  return {
    counted: (what, { namespace, framework }) =>
      counted[what].inc({ job_namespace: namespace, framework }),
    created: (what) => created[what].inc(),
    creationFailed: (what) => failed[what].inc(),
    deleted(what) {
      if (what === "pod") metrics.deletedPods.inc();
      if (what === "podGroup") metrics.deletedPodGroups.inc();
    },
  };
}
