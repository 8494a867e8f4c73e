/** Requests for `pods/log`. */
import { readLogOptions } from "../../../crds/log_options.ts";
import { onAbort } from "../../../platform/base/aborted.ts";
import { objectsAt, textAt } from "../../../platform/base/json.ts";
import { badRequest, StatusError } from "../objects/status_error.ts";
import type { LoggedPod } from "../operations/pod_logs.ts";
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
  const { name, annotations } = pod.metadata ?? {};
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

/** Returns the same stream, which ends early when the server closes. */
function untilClosed(log: ReadableStream<Uint8Array>, closing: AbortSignal) {
  const reader = log.getReader();
  const forget = onAbort(closing, () => reader.cancel());
  // One that has broken off cannot be cancelled.
  reader.closed.then(forget, forget);
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/** Serves the log of one container. Throws 400, 404 and 501. */
export function podLog({ context, incoming, call }: Operation): Response {
  const { namespace = "", name = "" } = call;
  const isThere = context.store.get(call.resource, namespace, name) !== undefined;
  const gone = isThere ? undefined : context.gonePod?.(namespace, name);
  const pod = gone ?? existing(context, call);
  const query = incoming.url.searchParams;
  const container = containerOf(pod, query.get("container"));
  const options = readLogOptions(query);
  if ("problem" in options) throw badRequest(options.problem);
  if (!context.podLogs) {
    const message = "this API server has no logs: it was started without a kubelet";
    throw new StatusError(501, "NotImplemented", message);
  }
  const log = untilClosed(context.podLogs({ pod, container, options }), context.closing);
  return new Response(log, { headers: { "content-type": "text/plain" } });
}
