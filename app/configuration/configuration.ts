/**
 * What the manager is told: flags over environment over the `--config` file over defaults, checked
 * as a whole before anything starts (contract milepost.md, flags).
 */
import { parse as parseYaml, YAMLParseError } from "yaml";
import { z } from "zod";
import { MANAGER, PORTS } from "../../crds/names.ts";
import { ConfigurationError } from "../../kube/errors.ts";
import { parseDuration } from "../../crds/duration.ts";
import { type FeatureGates, parseFeatureGates } from "./feature_gates.ts";
import {
  adoptCollectors,
  defaultDbManager,
  katibDbManager,
  observationSink,
} from "./observation_settings.ts";

const port = (otherwise: number) =>
  z.coerce.number({ error: "must be a port from 0 to 65535 (0 takes one that is free)" })
    .int("must be a whole number").min(0, "must be a port from 0 to 65535")
    .max(65_535, "must be a port from 0 to 65535").default(otherwise);

const duration = (otherwise: string) =>
  z.string().default(otherwise).transform((text, context) => {
    const ms = parseDuration(text);
    if (ms === undefined) {
      context.addIssue({
        code: "custom",
        message: `"${text}" is no duration such as 15s or 250ms`,
      });
      return z.NEVER;
    }
    return ms;
  });

const rate = (otherwise: number) =>
  z.coerce.number({ error: "must be a number above 0" }).positive("must be above 0")
    .default(otherwise);

const count = (otherwise: number) =>
  z.coerce.number({ error: "must be a whole number, 0 or more" })
    .int("must be a whole number").min(0, "must be 0 or more").default(otherwise);

const BOOLEAN = "must be true or false";
const boolean = (otherwise: boolean) =>
  z.union([z.boolean(), z.enum(["true", "false"])], { error: BOOLEAN }).default(otherwise)
    .transform((it) => it === true || it === "true");

const baseUrl = z.string().optional().transform((text, context) => {
  if (text === undefined) return undefined;
  const url = URL.parse(text);
  if (url === null || url.protocol !== "https:" || url.pathname !== "/" || url.search !== "") {
    context.addIssue({ code: "custom", message: `"${text}" must be like https://host:port` });
    return z.NEVER;
  }
  return url.origin;
});

/** Every setting of the manager, by its camelCase name. */
const settings = z.strictObject({
  kubeconfig: z.string().optional(),
  namespace: z.string().min(1).default(MANAGER.namespace),
  serviceName: z.string().min(1).default(MANAGER.name),
  webhookPort: port(PORTS.webhook),
  statusPort: port(PORTS.status),
  metricsPort: port(PORTS.metrics),
  healthPort: port(PORTS.health),
  forwardPort: port(PORTS.forward),
  bindAddress: z.string().default("0.0.0.0"),
  webhookBaseUrl: baseUrl,
  statusBaseUrl: baseUrl,
  featureGates: z.string().default(""),
  jobset: z.enum(["auto", "builtin", "external"], {
    error: "must be auto, builtin or external",
  }).default("auto"),
  leaderElect: boolean(true),
  leaseDuration: duration("15s"),
  renewDeadline: duration("10s"),
  retryPeriod: duration("2s"),
  statusWriteInterval: duration("1s"),
  statusWritesQps: rate(50),
  pushQpsPerPod: rate(20),
  pushBurstPerPod: rate(100),
  pushQpsPerSubject: rate(2000),
  pushBurstPerSubject: rate(5000),
  authentication: z.enum(["local+review", "review", "local"], {
    error: "must be local+review, review or local",
  }).default("local+review"),
  tokenReviewQps: rate(50),
  maxStreams: count(1000),
  maxStreamsPerSubject: count(20),
  observationSink,
  katibDbManager,
  adoptCollectors,
  logFormat: z.enum(["json", "text"], { error: "must be json or text" }).optional(),
  logLevel: z.enum(["debug", "info", "warning", "error"], {
    error: "must be debug, info, warning or error",
  }).default("info"),
});

/** Why the times of leader election do not fit each other; undefined where they do. */
function electionProblem(it: z.infer<typeof settings>): string | undefined {
  const { leaseDuration, renewDeadline, retryPeriod } = it;
  if (!it.leaderElect) return undefined;
  if (leaseDuration < 1000) return "--lease-duration: must be at least 1s";
  if (retryPeriod <= 0) return "--retry-period: must be above 0";
  if (renewDeadline >= leaseDuration) {
    return "--renew-deadline: must be below --lease-duration, or two replicas may lead at once";
  }
  // Tries come up to a fifth later than the period.
  return retryPeriod * 1.2 < renewDeadline
    ? undefined
    : "--retry-period: must be well below --renew-deadline (at most four fifths of it)";
}

/** The settings, checked; durations are milliseconds, rates are per second. */
export type ManagerConfiguration = Omit<z.infer<typeof settings>, "featureGates"> & {
  readonly featureGates: FeatureGates;
};

/** The names of all settings: a flag `--webhook-port` is the setting `webhookPort`. */
export const SETTINGS: readonly string[] = Object.keys(settings.shape);

/** Settings that are on or off; their flag alone says on. */
export const SWITCHES: ReadonlySet<string> = new Set(["leaderElect"]);

/** `webhookPort` as the flag `--webhook-port`. */
export function flagOf(setting: string): string {
  return `--${setting.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** `webhookPort` as the variable `MILEPOST_WEBHOOK_PORT`. */
export function variableOf(setting: string): string {
  return `MILEPOST_${setting.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

/** Where settings come from. */
export interface ConfigurationSources {
  /** By setting; absent where the flag was not given. */
  flags: Readonly<Record<string, string | boolean | undefined>>;
  /** The environment, by variable. */
  environment: Readonly<Record<string, string | undefined>>;
  /** The text of the `--config` file, and its name for messages. */
  file?: { name: string; text: string };
  /** The namespace of the pod that this runs in; used where nothing names another. */
  podNamespace?: string;
}

function settingsOfFile(file: { name: string; text: string }): Record<string, unknown> {
  try {
    const value: unknown = parseYaml(file.text) ?? {};
    return z.record(z.string(), z.unknown(), { error: "must be a mapping of settings" })
      .parse(value);
  } catch (error) {
    const reason = error instanceof z.ZodError
      ? error.issues[0]?.message
      : error instanceof YAMLParseError
      ? error.message.split("\n")[0]
      : String(error);
    throw new ConfigurationError(`--config ${file.name}: ${reason}`, { cause: error });
  }
}

/** Which source a setting came from, for messages. */
function nameOf(setting: string, sources: ConfigurationSources): string {
  if (sources.flags[setting] !== undefined) return flagOf(setting);
  if (sources.environment[variableOf(setting)] !== undefined) return variableOf(setting);
  return `--config ${sources.file?.name ?? ""}: ${setting}`;
}

function problemsOf(error: z.ZodError, sources: ConfigurationSources): string {
  return error.issues.map((issue) => {
    if (issue.code === "unrecognized_keys") {
      return `--config ${sources.file?.name ?? ""}: unknown ${issue.keys.join(", ")}`;
    }
    return `${nameOf(String(issue.path[0] ?? ""), sources)}: ${issue.message}`;
  }).join("; ");
}

/** Puts the sources together. Throws a ConfigurationError that names every wrong setting in a line. */
export function readConfiguration(sources: ConfigurationSources): ManagerConfiguration {
  const raw: Record<string, unknown> = sources.file ? settingsOfFile(sources.file) : {};
  for (const setting of SETTINGS) {
    const given = sources.flags[setting] ?? sources.environment[variableOf(setting)];
    if (given !== undefined) raw[setting] = given;
  }
  raw.namespace ??= sources.podNamespace;
  raw.katibDbManager ??= defaultDbManager(sources.environment);
  if (typeof raw.featureGates === "object" && raw.featureGates !== null) {
    raw.featureGates = Object.entries(raw.featureGates).map((it) => it.join("=")).join(",");
  }
  const result = settings.safeParse(raw);
  if (!result.success) {
    throw new ConfigurationError(problemsOf(result.error, sources), { cause: result.error });
  }
  const problem = electionProblem(result.data);
  if (problem !== undefined) throw new ConfigurationError(problem);
  return { ...result.data, featureGates: parseFeatureGates(result.data.featureGates) };
}
