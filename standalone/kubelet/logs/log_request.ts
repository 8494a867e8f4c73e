/** Requests to the kubelet's log endpoint, parsed. Pure. */
import { type LogOptions, readLogOptions } from "../../../crds/log_options.ts";

/** A log that is asked for. */
export interface LogRequest {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  readonly options: LogOptions;
}

/** Problem of a request, and the HTTP status that fits. */
export interface LogRefusal {
  readonly code: 400 | 404 | 405;
  readonly message: string;
}

const PATH = /^\/containerLogs\/([^/]+)\/([^/]+)\/([^/]+)$/;
/** The log that `target` (path and query of a request) asks for, or why it is refused. */
export function readLogRequest(method: string, target: string): LogRequest | LogRefusal {
  const url = URL.parse(target, "https://kubelet");
  const match = PATH.exec(url?.pathname ?? "");
  if (url === null || match === null) {
    const message = "unknown path: the kubelet serves only /containerLogs/NAMESPACE/POD/CONTAINER";
    return { code: 404, message };
  }
  if (method !== "GET") return { code: 405, message: `${method} is not allowed: use GET` };
  const options = readLogOptions(url.searchParams);
  if ("problem" in options) return { code: 400, message: options.problem };
  try {
    const [namespace = "", pod = "", container = ""] = match.slice(1).map(decodeURIComponent);
    return { namespace, pod, container, options };
  } catch (error) {
    if (error instanceof URIError) return { code: 400, message: "the path is not well encoded" };
    throw error;
  }
}
