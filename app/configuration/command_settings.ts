/** The tables of the settings of all commands but the manager. */
import { z } from "zod";
import { historySettings, trialResources } from "./observation_settings.ts";
import { notifyUrl } from "./notifications_file.ts";
import { boolean, logLevel, optionalCount, path, port } from "./setting_schemas.ts";

/** Settings of pods, for the commands that run a kubelet. */
const podSettings = {
  inheritEnvironment: boolean(true)
    .describe("pods inherit caches (such as HF_HOME) and proxies from this environment"),
  mountNamespaces: boolean(true)
    .describe("mount paths and Service names of pods are real where this machine allows it"),
};

/** `milepost standalone`. */
export const standaloneSettings = z.strictObject({
  dataDir: path("folder", "in memory").describe("where everything is kept"),
  historyBytes: historySettings.historyBytes.describe(
    "size of the file of curves, and of the logs of ended pods beside it: beyond it those of jobs that ended first are deleted",
  ),
  historyAge: historySettings.historyAge.describe(
    "time after a job's end for which its curves are kept, and after a pod's end its logs, such as 720h; 0s: as long as the job",
  ),
  port: port(0).describe(
    "port of the API server; 0 takes that of the last start on the data folder, or any free port",
  ),
  statusPort: port(0).describe(
    "port of the status endpoint; 0 takes that of the last start on the data folder, or any free port",
  ),
  ui: boolean(true).describe("serve the page for browsers of this machine"),
  uiPort: port(0).describe(
    "port of that page; 0 takes that of the last start on the data folder, or any free port",
  ),
  kubeconfig: path("file", "in the data folder").describe(
    "kubeconfig to merge the context `milepost` into",
  ),
  trialResource: trialResources.describe(
    "kinds besides, as Kind.version.group such as Job.v1.batch, that Katib's Trials may have as their jobs; repeated, " +
      "or separated by commas",
  ).meta({ value: "resources", otherwise: "none" }),
  notify: notifyUrl.describe(
    "URL that is told when jobs end, stall or go on, with what their programs say: in Slack's form if it is Slack's, else as JSON",
  ),
  ...podSettings,
  json: boolean(false).describe("print one line of JSON when ready"),
  logLevel: logLevel("warning"),
});

/** `milepost node`. */
export const nodeSettings = z.strictObject({
  kubeconfig: z.string({ error: "must name a kubeconfig of the API server" })
    .describe("the API server, and the node's user there")
    .meta({ value: "file", otherwise: "none: it must be given" }),
  nodeName: z.string().min(1).optional().describe("name of the node")
    .meta({ value: "name", otherwise: "the host's" }),
  dataDir: path("folder", "a temporary one").describe("folder of pods and logs"),
  port: port(0).describe("port of the log endpoint"),
  tlsCert: path("file", "self-signed").describe("certificate of the log endpoint"),
  tlsKey: path("file", "self-signed").describe("its key"),
  clientCa: path("file", "none: only tokens").describe("CA of clients of the log endpoint"),
  ...podSettings,
  logLevel: logLevel("info"),
});

/** `milepost observation-log`. */
export const observationLogSettings = z.strictObject({
  dataDir: path("folder", "in memory").describe("where the database is kept"),
  ...historySettings,
  bindAddress: z.string().default("0.0.0.0").describe("address to listen on")
    .meta({ value: "address" }),
  port: port(6789).describe("port of the DBManager service, TLS and plaintext"),
  tlsCert: path("file", "none: no client can write").describe("certificate of the port"),
  tlsKey: path("file", "none").describe("its key"),
  clientCa: z.string().optional()
    .describe("CAs of clients that may write, separated by commas")
    .meta({ value: "files", otherwise: "none" }),
  logLevel: logLevel("info"),
});

/** `milepost demo`. */
export const demoSettings = z.strictObject({
  json: boolean(false).describe("print one JSON object for each change, and a summary"),
  seconds: optionalCount(3_600, "45 at a terminal, else 0")
    .describe("seconds for which the jobs train at least"),
  search: boolean(false).describe(
    "run an OptimizationJob of 24 trials, whose pruner stops the bad ones",
  ),
  svg: path("file", "milepost-search.svg")
    .describe("where to write the learning curves of the trials"),
  logLevel: logLevel("error"),
});

/** `milepost crds`. */
export const crdsSettings = z.strictObject({
  trials: boolean(false).describe("only that of Katib's Trial, for clusters without Katib"),
  withoutJobset: boolean(false)
    .describe("without that of JobSet, for clusters with upstream's JobSet controller"),
  v1: boolean(false)
    .describe("only those of the Training Operator's kinds, with the annotation to run them"),
  patch: boolean(false)
    .describe("with --v1: kubectl commands that add progress to the Training Operator's own"),
});
