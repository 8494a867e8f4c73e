/**
 * The manager's configuration: flags before variables before the `--config` file before defaults,
 * checked as a whole before anything starts.
 */
import { z } from "zod";
import { V1_GROUP } from "../../crds/v1/names.ts";
import { electionTimesProblem } from "../../platform/kube/leading/election_times.ts";
import { ConfigurationError } from "../../platform/kube/errors.ts";
import { type FeatureGates, parseFeatureGates } from "./feature_gates.ts";
import { defaultDbManager } from "./observation_settings.ts";
import { readSettings, type SettingSources } from "./setting_sources.ts";
import { settings } from "./settings.ts";
import { yamlOf } from "./yaml_text.ts";

/** The problem of the times of leader election; undefined if they fit each other. */
function electionProblem(it: z.infer<typeof settings>): string | undefined {
  const { leaseDuration, renewDeadline, retryPeriod } = it;
  if (!it.leaderElect) return undefined;
  if (leaseDuration < 1000) return "--lease-duration: must be at least 1s";
  if (retryPeriod <= 0) return "--retry-period: must be above 0";
  return electionTimesProblem(
    { leaseMs: leaseDuration, renewMs: renewDeadline, retryMs: retryPeriod },
    { leaseMs: "--lease-duration", renewMs: "--renew-deadline", retryMs: "--retry-period" },
  );
}

/** The problem of kinds that the manager would have to run and to leave to others; undefined if there is none. */
function resourceProblem({ v1Jobs, trialResource }: z.infer<typeof settings>): string | undefined {
  const both = trialResource.find(({ kind, group }) =>
    group === V1_GROUP && v1Jobs.some((it) => it === kind)
  );
  return both && `--trial-resource: ${both.kind} is run by --v1-jobs, and needs no setting`;
}

/** The settings, checked; durations are milliseconds, rates are per second. */
export type ManagerConfiguration = Omit<z.infer<typeof settings>, "featureGates"> & {
  readonly featureGates: FeatureGates;
};

/** Sources of settings. */
export interface ConfigurationSources extends Pick<SettingSources, "flags" | "environment"> {
  /** The text of the `--config` file, and its name for messages. */
  file?: { name: string; text: string };
  /** The namespace of the pod that this runs in; used if nothing names another. */
  podNamespace?: string;
}

const fileSchema = z.record(z.string(), z.unknown(), { error: "must be a mapping of settings" });

function settingsOfFile(file: { name: string; text: string }): Record<string, unknown> {
  const { data, error } = fileSchema.safeParse(yamlOf("--config", file) ?? {});
  if (data !== undefined) return data;
  const reason = error.issues[0]?.message;
  throw new ConfigurationError(`--config ${file.name}: ${reason}`, { cause: error });
}

/** The settings of the file. A mapping of feature gates becomes the text that the flag has. */
function valuesOf(file: { name: string; text: string }): Record<string, unknown> {
  const values = settingsOfFile(file);
  const { featureGates } = values;
  if (typeof featureGates !== "object" || featureGates === null) return values;
  const text = Object.entries(featureGates).map((it) => it.join("=")).join(",");
  return { ...values, featureGates: text };
}

/** Puts the sources together. Throws a ConfigurationError that names every wrong setting, in one line. */
export function readConfiguration(sources: ConfigurationSources): ManagerConfiguration {
  const { flags, environment, file, podNamespace } = sources;
  const given = readSettings(settings, {
    command: "manager",
    flags,
    environment,
    file: file && { name: file.name, values: valuesOf(file) },
    defaults: { namespace: podNamespace, katibDbManager: defaultDbManager(environment) },
  });
  const problem = electionProblem(given) ?? resourceProblem(given);
  if (problem !== undefined) throw new ConfigurationError(problem);
  return { ...given, featureGates: parseFeatureGates(given.featureGates) };
}
