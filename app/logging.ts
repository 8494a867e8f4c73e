/** Logging: JSON lines in a cluster, readable lines on a terminal. */
import {
  configure,
  dispose,
  getJsonLinesFormatter,
  getLogger,
  getStreamSink,
  getTextFormatter,
} from "@logtape/logtape";

/** The least severity of what is logged. */
export type LogLevel = "debug" | "info" | "warning" | "error";

/** How logs are written. */
export interface LoggingOptions {
  /** Default: `text` if standard error is a terminal, else `json`. */
  format?: "json" | "text";
  level: LogLevel;
}

/** A property as a person reads it; texts with blanks are quoted. */
function readable(value: unknown): string {
  if (value instanceof Error) return JSON.stringify(value.message);
  if (typeof value === "string") return /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
  return JSON.stringify(value) ?? String(value);
}

/** `11:15:44.456 INFO controller: reconciled key=default/a`. */
const lineFormatter = getTextFormatter({
  timestamp: "time",
  level: "FULL",
  category: (category) => category.slice(1).join("/"),
  format: ({ timestamp, level, category, message, record }) => {
    const properties = Object.entries(record.properties)
      .map(([key, value]) => ` ${key}=${readable(value)}`).join("");
    return `${timestamp} ${level} ${category}: ${message}${properties}`;
  },
});

/**
 * Starts logging to standard error; standard output is for the output of commands. Records carry a
 * constant message and properties; in JSON the properties are fields.
 */
export async function startLogging(options: LoggingOptions): Promise<void> {
  const format = options.format ?? (Deno.stderr.isTerminal() ? "text" : "json");
  const formatter = format === "json"
    ? getJsonLinesFormatter({ properties: "flatten", message: "rendered" })
    : lineFormatter;
  await configure({
    reset: true,
    sinks: { standardError: getStreamSink(Deno.stderr.writable, { formatter }) },
    loggers: [
      { category: ["logtape", "meta"], lowestLevel: "warning", sinks: ["standardError"] },
      { category: ["milepost"], lowestLevel: options.level, sinks: ["standardError"] },
    ],
  });
}

/** Flushes the logs and stops logging. */
export async function stopLogging(): Promise<void> {
  await dispose();
}

/** Whether the level is `debug`; false before logging has started. */
export function logsDebug(): boolean {
  return getLogger(["milepost"]).isEnabledFor("debug");
}
