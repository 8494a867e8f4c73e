/** Requests for `pods/log`. */
import { compact, objectsAt, textAt } from "../../../platform/base/json.ts";
import { badRequest, StatusError } from "../objects/status_error.ts";
import type { LoggedPod, PodLogRequest } from "../operations/pod_logs.ts";
import { isTrue, wholeNumber } from "../operations/query_parameters.ts";
import { existing } from "../operations/writes.ts";
import type { Operation } from "./operation.ts";

const DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container";

/** Returns the container's name; a pod with several needs it from the client or an annotation. */
function containerOf(pod: LoggedPod, asked: string | null): string {
  const main = objectsAt(pod.spec, "containers").map((one) => textAt(one, "name") ?? "");
  const all = [
    ...main,
    ...objectsAt(pod.spec, "initContainers").map((one) => textAt(one, "name") ?? ""),
  ];
  const { name, annotations } = pod.metadata;
  const wanted = asked || annotations?.[DEFAULT_CONTAINER];
  if (wanted) {
    if (all.includes(wanted)) return wanted;
    throw badRequest(`container ${wanted} is not valid for pod ${name}`);
  }
  const [only, another] = main;
  if (only !== undefined && another === undefined) return only;
  throw badRequest(
    `a container name must be specified for pod ${name}, choose one of: [${all.join(" ")}]`,
  );
}

function logRequest(pod: LoggedPod, query: URLSearchParams, signal: AbortSignal): PodLogRequest {
  const isSet = (name: string) => isTrue(query, name);
  const whole = (name: string) =>
    wholeNumber(query, name, () => `${name} must be a whole number of at least 0`);
  return compact({
    pod,
    namespace: pod.metadata.namespace ?? "",
    name: pod.metadata.name,
    container: containerOf(pod, query.get("container")),
    follow: isSet("follow"),
    previous: isSet("previous"),
    timestamps: isSet("timestamps"),
    tailLines: whole("tailLines"),
    limitBytes: whole("limitBytes"),
    sinceSeconds: whole("sinceSeconds"),
    sinceTime: query.get("sinceTime") ?? undefined,
    signal,
  });
}

/** Returns the same stream; it aborts `left` when the client disconnects, and ends when the server closes. */
function untilDisconnected(
  body: ReadableStream<Uint8Array>,
  left: AbortController,
  signal: AbortSignal,
) {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        // The source may end the stream with an error after the abort.
        if (!signal.aborted) throw error;
        controller.close();
      }
    },
    async cancel(reason) {
      await reader.cancel(reason);
      left.abort();
    },
  });
}

/** Serves the log of one container. Throws 400, 404 and 501. */
export async function podLog({ context, incoming, call }: Operation): Promise<Response> {
  const { namespace = "", name = "" } = call;
  const isThere = context.store.get(call.resource, namespace, name) !== undefined;
  const gone = isThere ? undefined : context.gonePod?.(namespace, name);
  const pod = gone ?? existing(context, call);
  const left = new AbortController();
  const signal = AbortSignal.any([left.signal, context.closing]);
  const request = logRequest(pod, incoming.url.searchParams, signal);
  if (!context.podLogs) {
    const message = "this API server has no logs: it was started without a kubelet";
    throw new StatusError(501, "NotImplemented", message);
  }
  const { body, status, headers } = await context.podLogs(request);
  return new Response(body && untilDisconnected(body, left, signal), { status, headers });
}
