/** Query of a pod's log: what is asked of the API server. Pure. */

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

const CONTAINER = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const SINCE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/;
const PARAMETERS: readonly string[] = [
  "container",
  "follow",
  "previous",
  "sinceTime",
  "tailLines",
  "timestamps",
];
const SWITCHES = ["follow", "previous", "timestamps"] as const;

/** A pod by name. */
interface NamedPod {
  readonly namespace: string;
  readonly pod: string;
}

function problemOf(query: URLSearchParams): string | undefined {
  const unknown = [...query.keys()].find((it) => !PARAMETERS.includes(it));
  if (unknown !== undefined) return `unknown parameter; known: ${PARAMETERS.join(", ")}`;
  const container = query.get("container");
  if (container !== null && !CONTAINER.test(container)) return "container must be a name";
  const switches = SWITCHES.map((name) => query.get(name));
  if (switches.some((it) => it !== null && it !== "true" && it !== "false")) {
    return `${SWITCHES.join(", ")} must be true or false`;
  }
  const since = query.get("sinceTime");
  if (since !== null && !(SINCE.test(since) && Number.isFinite(Date.parse(since)))) {
    return "sinceTime must be a time such as 2026-01-31T12:00:00.5Z";
  }
  const lines = query.get("tailLines");
  const isCount = lines === null ||
    (/^\d{1,6}$/.test(lines) && Number(lines) <= LOG_LIMITS.maxTailLines);
  return isCount ? undefined : `tailLines must be at most ${LOG_LIMITS.maxTailLines}`;
}

/** Returns the path and query of the API server for a log, or what is wrong with the query. */
export function logPath(
  { namespace, pod }: NamedPod,
  query: URLSearchParams,
): string | { readonly problem: string } {
  const problem = problemOf(query);
  if (problem !== undefined) return { problem };
  const since = query.get("sinceTime");
  // Who reads on behind what it has wants all of that, and no hole.
  const lines = since === null ? LOG_LIMITS.tailLines : LOG_LIMITS.maxTailLines;
  const asked = new URLSearchParams({ tailLines: query.get("tailLines") ?? String(lines) });
  const container = query.get("container");
  if (container !== null) asked.set("container", container);
  if (since !== null) asked.set("sinceTime", since);
  if (query.get("previous") === "true") asked.set("previous", "true");
  if (query.get("timestamps") === "true") asked.set("timestamps", "true");
  if (query.get("follow") === "true") asked.set("follow", "true");
  else asked.set("limitBytes", String(LOG_LIMITS.bytes));
  return `/api/v1/namespaces/${namespace}/pods/${pod}/log?${asked}`;
}
