/** Words of a program from its log, where its launcher's report fills what is known of its failure. */
import { FAILURE_LIMITS, type JobFailure } from "../../crds/job_failure.ts";
import { linesToError, ONLY_IN_LOG } from "../../platform/base/error_line.ts";
import { lastBytes, logText } from "../../platform/base/hostile_text.ts";
import { KubeError, TooLargeError, TransportError } from "../../platform/kube/errors.ts";
import { type BoundedReads, readText } from "./bounded_reads.ts";
import { logPath } from "./log_query.ts";

/** What is read of a log, fewer lines where they are too long, and shown of it. */
const READ = { tailLines: [1_000, 100], shownLines: 30 } as const;
const BOUNDS = { maxBytes: 1 << 20, deadlineMs: 5_000 } as const;

/** Reads the last lines of a log; undefined if they cannot be read now. Throws if nobody answers. */
async function lastLines(
  reads: BoundedReads,
  of: { readonly namespace: string; readonly pod: string },
  query: Readonly<Record<string, string>>,
): Promise<string | undefined> {
  for (const tailLines of READ.tailLines) {
    const asked = new URLSearchParams({ ...query, tailLines: String(tailLines) });
    const path = logPath(of, asked);
    if (typeof path !== "string") return undefined;
    try {
      return await readText(reads, path, BOUNDS);
    } catch (error) {
      if (error instanceof KubeError) return undefined;
      if (!(error instanceof TooLargeError)) throw error;
    }
  }
  return undefined;
}

/**
 * Reads what the pod of a failure said up to its last error, with the viewer's rights, if the headline says that only its
 * log has it: first what its container says now, then what it said before its last start. Returns undefined if the log
 * tells of no error, or cannot be read.
 */
export async function wordsOfLog(
  reads: BoundedReads,
  namespace: string,
  { headline = "", pod, container }: JobFailure,
): Promise<string | undefined> {
  if (pod === undefined || !headline.endsWith(ONLY_IN_LOG)) return undefined;
  for (const previous of ["false", "true"]) {
    try {
      const query = { previous, ...(container && { container }) };
      const text = await lastLines(reads, { namespace, pod }, query);
      const words = linesToError(logText(text ?? ""), READ.shownLines);
      if (words !== "") return lastBytes(words, FAILURE_LIMITS.messageBytes);
    } catch (error) {
      // The job's own words stay; whoever asks for the log is told what is wrong with it.
      if (error instanceof TransportError) return undefined;
      throw error;
    }
  }
  return undefined;
}
