/** Refusal of what runs in a pod, such as `kubectl exec`: says what to do on this machine instead. */
import { StatusError } from "../objects/status_error.ts";
import { existing } from "../operations/writes.ts";
import type { Operation } from "./operation.ts";

/** Subprotocols whose last channel carries a Status at the end (Kubernetes, `remotecommand`). */
const PROTOCOLS: readonly string[] = ["v5.channel.k8s.io", "v4.channel.k8s.io"];
const ERROR_CHANNEL = 3;

const LOG = "kubectl logs POD has what it prints";
const PORTS = "what it listens on is open at 127.0.0.1";
/** Subresources of pods that are refused, and what is done in place of each. */
const INSTEAD: Readonly<Record<string, string>> = {
  exec: `run the command in a shell of this machine, in PLACE; ${LOG}`,
  attach: LOG,
  portforward: PORTS,
  proxy: PORTS,
  ephemeralcontainers: "a shell of this machine sees them",
  resize: "they have no limits",
};

/** Returns the refusal of a pod's subresource; undefined if it is none that is refused. */
export function refusalOf({ context, call }: Operation): StatusError | undefined {
  const { subresource = "" } = call;
  if (!Object.hasOwn(INSTEAD, subresource)) return undefined;
  const { uid = "", name = "" } = existing(context, call).metadata;
  const instead = INSTEAD[subresource]?.replace("POD", name)
    .replace("PLACE", context.placeOfPod?.(uid) ?? "its folder");
  const message = `pods/${subresource} is not served here: its pods are processes of this ` +
    `machine; ${instead}`;
  return new StatusError(405, "MethodNotAllowed", message);
}

/** Sends a refusal as the end of a stream: kubectl tells nothing of one that was not opened. Throws it if there can be no stream. */
export function refusedStream(
  { incoming: { request } }: Operation,
  refusal: StatusError,
): Response {
  const offered = request.headers.get("sec-websocket-protocol")?.split(/, */) ?? [];
  const protocol = PROTOCOLS.find((it) => offered.includes(it));
  if (protocol === undefined) throw refusal;
  const { socket, response } = Deno.upgradeWebSocket(request, { protocol });
  const status = new TextEncoder().encode(JSON.stringify(refusal.toStatus()));
  socket.onopen = () => {
    socket.send(Uint8Array.of(ERROR_CHANNEL, ...status));
    socket.close(1000);
  };
  return response;
}
