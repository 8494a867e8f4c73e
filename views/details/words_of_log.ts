/** Words of a program from its log, where its launcher's report fills what is known of its failure. */
import { FAILURE_LIMITS, type JobFailure } from "../../crds/job_failure.ts";
import { linesToError, ONLY_IN_LOG } from "../../platform/base/error_line.ts";
import { lastBytes, logText } from "../../platform/base/hostile_text.ts";
import type { BoundedReads } from "./bounded_reads.ts";
import { logPath } from "./log_query.ts";

/** What is read of a log, and shown of it. */
const READ = { tailLines: 1_000, bytes: 1 << 20, deadlineMs: 5_000, shownLines: 30 } as const;

/**
 * Reads what the pod of a failure said up to its last error, with the viewer's rights, if the headline says that only its
 * log has it: first what its container says now, then what it said before its last start. Returns undefined if the log
 * tells of no error, or cannot be read.
 */
export async function wordsOfLog(
  { client, signal }: BoundedReads,
  namespace: string,
  { headline = "", pod, container }: JobFailure,
): Promise<string | undefined> {
  if (pod === undefined || !headline.endsWith(ONLY_IN_LOG)) return undefined;
  for (const previous of ["false", "true"]) {
    const tailLines = String(READ.tailLines);
    const query = new URLSearchParams({ tailLines, previous, ...(container && { container }) });
    const path = logPath({ namespace, pod }, query);
    if (typeof path !== "string") return undefined;
    try {
      const { bytes: maxBytes, deadlineMs } = READ;
      const { text } = await client.read(path, { signal, maxBytes, deadlineMs });
      const words = linesToError(logText(text), READ.shownLines);
      if (words !== "") return lastBytes(words, FAILURE_LIMITS.messageBytes);
    } catch {
      // The job's own words stay; whoever asks for the log is told what is wrong with it.
      signal.throwIfAborted();
    }
  }
  return undefined;
}
