/** docs/reference/metrics.md: the manager's metrics. */
import { z } from "zod";
import { createMetrics, type Metrics } from "../../app/manager/metrics.ts";
import { code, page, table } from "./table.ts";

const INTRODUCTION =
  `Port 8080, \`/metrics\`, plain HTTP, on every replica. \`deploy/kustomize/overlays/monitoring\` has alerts and a
dashboard. The result labels of pushes and reads are the reasons of [refusals](http.md#refusals) in lower case, and \`accepted\`.`;

/** When an operator should look at a metric. */
const ADVICE: Readonly<Record<Exclude<keyof Metrics, "registry">, string>> = {
  reconcileTotal: "errors do not end: the events of the object say why",
  reconcileSeconds: "",
  queueDepth: "it grows: the API server is slow, or the leader has too little processor",
  watchRestarts: "it grows by more than one in some minutes: something cuts connections",
  skippedObjects:
    "it is not 0: the warning `skipped an object that cannot be read` names the object",
  apiRequests: "403: the role is not the shipped one; 429: the API server throttles the manager",
  apiRequestSeconds: "",
  pushes:
    "results other than `accepted`: [troubleshooting](../guides/troubleshooting.md#no-progress-is-shown)",
  pushSeconds: "",
  forwardedPushes: "failures: the forward port (8443) is closed between replicas",
  reads:
    "`toomanyrequests` of kind `watch`, `observation_watch` or `observations`: raise `--max-streams` or `--max-streams-per-subject`",
  stopRequests:
    "`serviceunavailable`: no replica leads, or the TrainJobs' definition is not Milepost's ([stop a job](../guides/trials.md#stop-a-job-yourself))",
  restartRequests: "`conflict`: the job is in no state for it, or a restart is under way",
  openStreams: "it is near `--max-streams`",
  connectionsShed:
    "it grows: somebody opens more connections than one replica can take ([availability](../guides/security.md#availability))",
  jobsStalled: "above 0: each says since when in `status.stalled` ([stalls](../guides/stalls.md))",
  jobSeconds:
    "`stalled`, `starting` and `lost` beside `productive`: [what it cost](../guides/stalls.md#what-it-cost)",
  restarts:
    "`failure` (by the rules of a JobSet) or `policy` grows: [what it cost](../guides/stalls.md#what-it-cost)",
  notifications:
    "results other than `sent`: the log says why, once for each sink ([notifications](../guides/notifications.md))",
  ledgerPending:
    "it is near the number of jobs: [the write budget](../guides/operate.md#the-write-budget-of-progress)",
  ledgerOldestSeconds:
    "progress is late: [the write budget](../guides/operate.md#the-write-budget-of-progress)",
  ledgerWrites: "`error`: the log says why",
  ledgerDropped:
    "`lease_lost` or `shutdown`: [what can be lost](../guides/operate.md#what-can-be-lost)",
  tokenReviews:
    "`unavailable`: the API server refuses them or is unreachable; `over_budget` for long: raise `--token-review-qps`",
  tokenCache: "",
  jwksRefreshes: "`unavailable`: as above",
  observations:
    "`unavailable`: the log is down or saturated, and pushes of trials get 503 (a log that cannot be read back counts one for each try); `refused`: see the event `ObservationRefused`",
  observationSeconds: "",
  trialsOpen: "",
  trialsStopped: "",
  jobsCreated: "",
  jobsDeleted: "",
  jobsSuccessful: "",
  jobsFailed: "",
  jobsRestarted: "it grows for one namespace: the events of its jobs say which replicas fail",
  createdPods: "",
  deletedPods: "",
  failedPods: "it grows: the event `FailedCreatePod` of the job says why",
  succeededServiceCreations: "",
  failedServiceCreations: "it grows: the event `FailedCreateService` of the job says why",
  createdPodGroups: "",
  deletedPodGroups: "",
  certificateExpiry: "it is below three days: renewal fails, see the log",
  leader: "the sum over the replicas is not 1 for longer than a lease (15 s)",
};

/** What prom-client keeps of each metric. */
const kept = z.object({
  name: z.string(),
  help: z.string(),
  type: z.string(),
  labelNames: z.array(z.string()),
});

/** The page. */
export function metricsPage(): string {
  const { registry: _, ...metrics } = createMetrics();
  const advice = new Map(Object.entries(ADVICE));
  const rows = Object.entries(metrics).map(([key, metric]) => {
    const { name, help, type, labelNames } = kept.parse(metric);
    const labels = labelNames.length === 0 ? "" : `{${labelNames.join(",")}}`;
    return [code(`${name}${labels}`), type, help, advice.get(key) ?? ""];
  });
  return page("Metrics", [INTRODUCTION, table(["metric", "type", "", "look when"], rows)]);
}
