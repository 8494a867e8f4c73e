/** Settings as flags and variables, and as `--help` and the reference show them. */
import { z } from "zod";

/** The command whose variables are `MILEPOST_<FLAG>`; those of others are `MILEPOST_<COMMAND>_<FLAG>`. */
const MANAGER = "manager";

/** `webhookPort` as the flag `--webhook-port`. */
export function flagOf(setting: string): string {
  return `--${setting.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** `webhookPort` as the variable `MILEPOST_WEBHOOK_PORT`; of `node` as `MILEPOST_NODE_WEBHOOK_PORT`. */
export function variableOf(setting: string, command = MANAGER): string {
  const words = flagOf(setting).slice("--".length);
  return `MILEPOST_${command === MANAGER ? words : `${command}-${words}`}`
    .replaceAll("-", "_").toUpperCase();
}

/** A setting as `--help` and the reference show it. */
export interface SettingEntry {
  readonly name: string;
  readonly flag: string;
  /** The flag with a name for its value. */
  readonly usage: string;
  readonly variable: string;
  readonly description: string;
  /** The value, or words about it. */
  readonly default: string;
  /** Whether `default` is the value as it would be written. */
  readonly isValue: boolean;
  /** Whether the flag may be repeated. */
  readonly isList: boolean;
}

/** The value that a schema takes if nothing is given. */
function defaultOf(schema: z.core.$ZodType): unknown {
  if (schema instanceof z.ZodPipe) return defaultOf(schema.in);
  return schema instanceof z.ZodDefault ? schema.def.defaultValue : undefined;
}

/** A switch that is off needs no value; one that is on is turned off by `false`. */
function usageOf(flag: string, otherwise: unknown, value: string): string {
  if (typeof otherwise !== "boolean") return `${flag} <${value}>`;
  return otherwise ? `${flag} [value]` : flag;
}

/** All settings of a command, in their order. */
export function settingEntries(settings: z.ZodObject, command?: string): SettingEntry[] {
  return Object.entries(settings.shape).map(([name, schema]) => {
    const { description = "", value = "value", otherwise, isList = false, short } =
      z.globalRegistry.get(schema) ?? {};
    const literal = defaultOf(schema);
    const flag = flagOf(name);
    return {
      name,
      flag,
      usage: `${short === undefined ? "" : `${short}, `}${usageOf(flag, literal, String(value))}`,
      variable: variableOf(name, command),
      description,
      default: String(otherwise ?? literal ?? ""),
      isValue: otherwise === undefined,
      isList: isList === true,
    };
  });
}
