/** Sources of a command's settings: flags before variables before a file before defaults. */
import type { z } from "zod";
import { ConfigurationError } from "../../platform/kube/errors.ts";
import { flagOf, variableOf } from "./setting_entries.ts";

/** What was given. */
export interface SettingSources {
  /** The command; it is part of the names of variables. */
  readonly command: string;
  /** By setting; absent if the flag was not given. */
  readonly flags: Readonly<Record<string, string | boolean | undefined>>;
  /** The environment, by variable. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The settings of a file, and its name for messages. */
  readonly file?: { readonly name: string; readonly values: Readonly<Record<string, unknown>> };
  /** Defaults that depend on where the command runs. */
  readonly defaults?: Readonly<Record<string, unknown>>;
}

/**
 * Values of the variables `<SERVICE>_PORT` that Kubernetes gives every pod of a namespace for every
 * Service in it. A Service named `milepost-status` makes `MILEPOST_STATUS_PORT=tcp://10.0.0.1:8082`.
 */
const LINK_TO_SERVICE = /^(?:tcp|udp|sctp):\/\//;

/** The value of a setting in the environment; undefined also if Kubernetes made it for a Service. */
function variableValue(setting: string, sources: SettingSources): string | undefined {
  const value = sources.environment[variableOf(setting, sources.command)];
  return value === undefined || LINK_TO_SERVICE.test(value) ? undefined : value;
}

/** Which source a setting came from, for messages. */
function nameOf(setting: string, sources: SettingSources): string {
  const { flags, file, command } = sources;
  if (flags[setting] !== undefined) return flagOf(setting);
  if (variableValue(setting, sources) !== undefined) return variableOf(setting, command);
  return file?.values[setting] === undefined
    ? flagOf(setting)
    : `--config ${file.name}: ${setting}`;
}

function problemsOf(error: z.ZodError, sources: SettingSources): string {
  return error.issues.map((issue) => {
    if (issue.code === "unrecognized_keys") {
      return `--config ${sources.file?.name ?? ""}: unknown setting ${issue.keys.join(", ")}`;
    }
    return `${nameOf(String(issue.path[0] ?? ""), sources)}: ${issue.message}`;
  }).join("; ");
}

/** Puts the sources together. Throws a ConfigurationError that names every wrong setting, in one line. */
export function readSettings<S extends z.ZodObject>(
  settings: S,
  sources: SettingSources,
): z.infer<S> {
  const raw: Record<string, unknown> = { ...sources.defaults, ...sources.file?.values };
  for (const setting of Object.keys(settings.shape)) {
    const given = sources.flags[setting] ?? variableValue(setting, sources);
    if (given !== undefined) raw[setting] = given;
  }
  const result = settings.safeParse(raw);
  if (result.success) return result.data;
  throw new ConfigurationError(problemsOf(result.error, sources), { cause: result.error });
}
