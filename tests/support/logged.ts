/** Recorder of Milepost's log lines during a test. */
import { configure, type LogLevel, type LogRecord, reset } from "@logtape/logtape";

/** Runs `work` with the records of at least that level, which grow meanwhile. Returns its result. */
export async function withLogs<T>(
  work: (records: LogRecord[]) => Promise<T>,
  lowestLevel: LogLevel = "trace",
): Promise<T> {
  const records: LogRecord[] = [];
  await configure({
    reset: true,
    sinks: { memory: (record) => void records.push(record) },
    loggers: [
      { category: "milepost", sinks: ["memory"], lowestLevel },
      { category: ["logtape", "meta"], sinks: [] },
    ],
  });
  try {
    return await work(records);
  } finally {
    await reset();
  }
}

/** Runs `work`, and returns everything that is logged meanwhile. */
export async function logged(
  work: () => Promise<void>,
  lowestLevel?: LogLevel,
): Promise<readonly LogRecord[]> {
  return await withLogs(async (records) => {
    await work();
    return records;
  }, lowestLevel);
}
