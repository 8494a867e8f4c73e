/** Reader of one watch: opens it, decodes its events, and closes it. */
import type { WatchOptions } from "../client.ts";
import { KubeError, messageOf, TransportError } from "../errors.ts";
import { type OpenResponse, SilentError } from "../connection/open_response.ts";
import { type KubeRequest, watchRequest } from "../connection/request.ts";
import type { Kind } from "../resource.ts";
import { CorruptStreamError, decodeEvent, lines, type WatchEvent } from "./watch.ts";

/** Returns the error for a reader of a watch stream from a caught one. */
function watchError(error: unknown): unknown {
  const known = error instanceof KubeError || error instanceof CorruptStreamError ||
    error instanceof TransportError;
  if (known) return error;
  return new TransportError(`the watch was interrupted: ${messageOf(error)}`, { cause: error });
}

/** The events of one watch. Ends and throws as `KubeClient.watch` says. */
export async function* watchStream<T>(
  kind: Kind<T>,
  options: WatchOptions,
  open: (
    request: KubeRequest,
    bounds: Pick<WatchOptions, "signal" | "idleMs">,
  ) => Promise<OpenResponse>,
): AsyncGenerator<WatchEvent<T>> {
  const { signal, idleMs, namespace, ...query } = options;
  signal.throwIfAborted();
  try {
    const { body } = await open(watchRequest(kind, namespace, query), { signal, idleMs });
    for await (const line of lines(body)) {
      const event = decodeEvent(kind, line);
      if (event === undefined) continue;
      yield event;
      if (event.type === "error") return;
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (!(error instanceof SilentError)) throw watchError(error);
  }
}
