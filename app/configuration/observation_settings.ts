/** The settings of observations: where logs are kept, and which trials are adopted. */
import { z } from "zod";
import { COLLECTORS, KATIB } from "../../crds/katib_names.ts";
import type { SinkChoice } from "../../katib/log/sink_choice.ts";
import {
  formatTrialResource,
  parseTrialResource,
  type TrialResource,
} from "../../crds/trial_resource.ts";
import { TRAINER_GROUP } from "../../crds/names.ts";
import { duration, LIST, names, readIfGiven, size, texts } from "./setting_schemas.ts";

const ADDRESS = /^(?:\[[0-9a-fA-F:.]+\]|[^\s:/\[\]]+):(\d{1,5})$/;

function isAddress(text: string): boolean {
  const port = ADDRESS.exec(text)?.[1];
  return port !== undefined && Number(port) >= 1 && Number(port) <= 65_535;
}

function choiceOf(text: string): SinkChoice | undefined {
  if (text === "katib" || text === "memory") return { kind: text };
  const [, kind, rest = ""] = /^(sqlite|grpc):(.+)$/s.exec(text) ?? [];
  if (kind === "sqlite") return { kind, path: rest };
  return kind === "grpc" && isAddress(rest) ? { kind, address: rest } : undefined;
}

/** `--observation-sink`; undefined: chosen by what the cluster has. */
export const observationSink = z.string().optional()
  .transform(readIfGiven("must be katib, memory, sqlite:PATH or grpc:HOST:PORT", choiceOf));

/** `--katib-db-manager`, `host:port`. */
export const katibDbManager = z.string()
  .refine(isAddress, { error: "must be host:port, such as katib-db-manager.kubeflow:6789" });

/** `--history-bytes` and `--history-age`, of whoever keeps logs in a file. */
export const historySettings = {
  historyBytes: size("4Gi").describe(
    "size of the file of logs, where this process keeps one: beyond it those of jobs that ended first are deleted",
  ),
  historyAge: duration("0s").describe(
    "time after a job's end for which its curves and logs are kept there, such as 720h; 0s: as long as the job",
  ),
};

/** `--adopt-collectors`: kinds of collectors. */
export const adoptCollectors = names([COLLECTORS.stdOut, COLLECTORS.file]);

const RESOURCES = "must be a list of Kind.version.group such as Job.v1.batch";

/** Returns what is wrong with a list of trial resources; undefined if nothing is. */
function resourcesProblem(texts: readonly string[]) {
  const wrong = texts.find((it) => parseTrialResource(it) === undefined);
  if (wrong !== undefined) return `${RESOURCES}, not "${wrong}"`;
  const known = resourcesOf(texts);
  const own = known.find(({ group }) => group === TRAINER_GROUP);
  if (own !== undefined) return `${formatTrialResource(own)} needs no setting: Milepost runs it`;
  const twice = known.find((one, at) =>
    known.slice(0, at).some(({ kind, group }) => kind === one.kind && group === one.group)
  );
  return twice && `${twice.kind} of ${twice.group} is there twice`;
}

const resourcesOf = (texts: readonly string[]): readonly TrialResource[] =>
  texts.map(parseTrialResource).filter((it) => it !== undefined);

/** `--trial-resource`: kinds of other operators that are jobs of Trials (KEP-1214). */
export const trialResources = texts(RESOURCES, resourcesProblem).transform(resourcesOf).meta(LIST);

/** The default address of Katib's DB manager, by the variables that Katib's own parts use. */
export function defaultDbManager(
  environment: Readonly<Record<string, string | undefined>>,
): string {
  const { KATIB_DB_MANAGER_SERVICE_IP: host, KATIB_CORE_NAMESPACE: namespace } = environment;
  const given = environment.KATIB_DB_MANAGER_SERVICE_PORT;
  const port = given && /^\d+$/.test(given) ? given : String(KATIB.dbManagerPort);
  return `${host || `katib-db-manager.${namespace || "kubeflow"}`}:${port}`;
}
