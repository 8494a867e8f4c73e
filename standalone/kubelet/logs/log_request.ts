/** Requests to the kubelet's log endpoint, parsed. Pure. */
import type { LogOptions } from "./log_reader.ts";

/** A log that is asked for. */
export interface LogRequest {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  readonly options: LogOptions & { readonly previous?: boolean };
}

/** Problem of a request, and the HTTP status that fits. */
export interface LogRefusal {
  readonly code: 400 | 404 | 405;
  readonly message: string;
}

const PATH = /^\/containerLogs\/([^/]+)\/([^/]+)\/([^/]+)$/;
const WHOLE = { tailLines: 0, sinceSeconds: 1, limitBytes: 1 } as const;
type WholeName = keyof typeof WHOLE;

class Wrong extends Error {}

/** Go's notion of a boolean in a query. */
function flag(query: URLSearchParams, name: string): boolean {
  const text = query.get(name) ?? "";
  if (/^(1|t|true)$/i.test(text)) return true;
  if (/^(|0|f|false)$/i.test(text)) return false;
  throw new Wrong(`${name}: "${text}" must be true or false`);
}

function whole(query: URLSearchParams, name: WholeName): Partial<Record<WholeName, number>> {
  const text = query.get(name);
  if (text === null || text === "") return {};
  if (/^\d{1,15}$/.test(text) && Number(text) >= WHOLE[name]) return { [name]: Number(text) };
  throw new Wrong(`${name}: "${text}" must be a whole number of at least ${WHOLE[name]}`);
}

function since(query: URLSearchParams): Pick<LogOptions, "sinceTime"> {
  const text = query.get("sinceTime");
  if (text === null || text === "") return {};
  if (Number.isFinite(Date.parse(text))) return { sinceTime: text };
  throw new Wrong(`sinceTime: "${text}" must be a time as in RFC 3339`);
}

function optionsOf(query: URLSearchParams): LogRequest["options"] {
  const stream = query.get("stream") ?? "All";
  if (stream !== "All") throw new Wrong(`stream: "${stream}" is not supported; only All is`);
  const options = {
    follow: flag(query, "follow"),
    previous: flag(query, "previous"),
    timestamps: flag(query, "timestamps"),
    ...whole(query, "tailLines"),
    ...whole(query, "sinceSeconds"),
    ...whole(query, "limitBytes"),
    ...since(query),
  };
  if (query.get("sinceSeconds") && query.get("sinceTime")) {
    throw new Wrong("sinceSeconds and sinceTime: only one of them may be given");
  }
  return options;
}

/** The log that `target` (path and query of a request) asks for, or why it is refused. */
export function readLogRequest(method: string, target: string): LogRequest | LogRefusal {
  const url = URL.parse(target, "https://kubelet");
  const match = PATH.exec(url?.pathname ?? "");
  if (url === null || match === null) {
    const message = "unknown path: the kubelet serves only /containerLogs/NAMESPACE/POD/CONTAINER";
    return { code: 404, message };
  }
  if (method !== "GET") return { code: 405, message: `${method} is not allowed: use GET` };
  try {
    const [namespace = "", pod = "", container = ""] = match.slice(1).map(decodeURIComponent);
    return { namespace, pod, container, options: optionsOf(url.searchParams) };
  } catch (error) {
    if (error instanceof Wrong) return { code: 400, message: error.message };
    if (error instanceof URIError) return { code: 400, message: "the path is not well encoded" };
    throw error;
  }
}
