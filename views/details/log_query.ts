/** Query of a pod's log: what is asked of the API server. Pure. */
import { z } from "zod";
import { strictQuery } from "../../platform/http/strict_query.ts";

/** Bounds of a log. */
export const LOG_LIMITS = {
  /** Lines before the end, if the query does not say. */
  tailLines: 1_000,
  maxTailLines: 100_000,
  /** Bytes of a log that is not followed. */
  bytes: 16 << 20,
  /** After so long without a line the stream of a followed log may be dead: its reader reads on with another. */
  idleMs: 600_000,
} as const;

const flag = z.enum(["true", "false"], "must be true or false").optional();
const SINCE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/;
const querySchema = z.strictObject({
  container: z.string().regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, "must be a name").optional(),
  follow: flag,
  previous: flag,
  sinceTime: z.string().refine(
    (text) => SINCE.test(text) && Number.isFinite(Date.parse(text)),
    "must be a time such as 2026-01-31T12:00:00.5Z",
  ).optional(),
  tailLines: z.string().refine(
    (text) => /^\d{1,6}$/.test(text) && Number(text) <= LOG_LIMITS.maxTailLines,
    `must be at most ${LOG_LIMITS.maxTailLines}`,
  ).optional(),
  timestamps: flag,
});

/** Returns the path and query of the API server for a log, or what is wrong with the query. */
export function logPath(
  { namespace, pod }: { readonly namespace: string; readonly pod: string },
  given: URLSearchParams,
): string | { readonly problem: string } {
  const read = strictQuery(given, querySchema);
  if ("causes" in read) {
    return { problem: read.causes.map(({ field, message }) => `${field} ${message}`).join("; ") };
  }
  const { container, follow, previous, sinceTime, timestamps } = read.query;
  // Who reads on behind what it has wants all of that, and no hole.
  const lines = sinceTime === undefined ? LOG_LIMITS.tailLines : LOG_LIMITS.maxTailLines;
  const asked = new URLSearchParams({
    tailLines: read.query.tailLines ?? String(lines),
    ...(container !== undefined && { container }),
    ...(sinceTime !== undefined && { sinceTime }),
    ...(previous === "true" && { previous }),
    ...(timestamps === "true" && { timestamps }),
    ...(follow === "true" ? { follow } : { limitBytes: String(LOG_LIMITS.bytes) }),
  });
  return `/api/v1/namespaces/${namespace}/pods/${pod}/log?${asked}`;
}
