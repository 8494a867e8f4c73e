/** Refusal of streams into pods, such as `kubectl exec`: says what to do on this machine instead. */
import { onAbort } from "../../../platform/base/aborted.ts";
import { StatusError } from "../objects/status_error.ts";
import { existing } from "../operations/writes.ts";
import type { Operation } from "./operation.ts";

/** Subprotocols whose last channel carries a Status at the end (Kubernetes, `remotecommand`). */
const PROTOCOLS: readonly string[] = ["v5.channel.k8s.io", "v4.channel.k8s.io"];
const ERROR_CHANNEL = 3;

/** What is done instead of each. */
function insteadOf({ context, call }: Operation): string {
  const { metadata: { uid = "", name } } = existing(context, call);
  const folder = context.podsFolder === undefined ? "" : `, in ${context.podsFolder}/${uid}`;
  const log = `kubectl logs ${name} has what it prints`;
  switch (call.subresource) {
    case "exec":
      return `run the command in a shell of this machine${folder}; ${log}`;
    case "attach":
      return log;
    case "portforward":
    case "proxy":
      return "what it listens on is open at 127.0.0.1";
    default:
      return "";
  }
}

/** Sends the refusal as the end of a stream that was opened: kubectl tells nothing of one that was not. */
function closedStream(request: Request, error: StatusError, closing: AbortSignal) {
  const offered = request.headers.get("sec-websocket-protocol")?.split(/, */) ?? [];
  const protocol = PROTOCOLS.find((it) => offered.includes(it));
  if (request.headers.get("upgrade") !== "websocket" || protocol === undefined) throw error;
  const { socket, response } = Deno.upgradeWebSocket(request, { protocol });
  const status = new TextEncoder().encode(JSON.stringify(error.toStatus()));
  const forget = onAbort(closing, () => socket.close());
  socket.onopen = () => {
    socket.send(Uint8Array.of(ERROR_CHANNEL, ...status));
    socket.close(1000);
  };
  socket.onclose = forget;
  return response;
}

/** Answers a stream that is not served with what to do instead: at the end of a stream, if it may be one. Throws a `StatusError` otherwise. */
export function refusedStream(operation: Operation): Response {
  const { context, incoming, call } = operation;
  const instead = insteadOf(operation);
  const message = `pods/${call.subresource} is not served here: its pods are processes of this ` +
    `machine${instead === "" ? "" : `; ${instead}`}`;
  const error = new StatusError(405, "MethodNotAllowed", message);
  return closedStream(incoming.request, error, context.closing);
}
