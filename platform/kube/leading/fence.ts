/** Fence of a leader: its writes leave while it stands, and none of its calls outlives it (docs/decisions/0014). */
import type { CallOptions, KubeClient } from "../client.ts";
import { withSignals } from "../../base/deadline.ts";

/** Whether this replica may act as the leader. */
export interface Fence {
  /** Whether it leads, by the clock and not by a timer: timers may be late. */
  readonly stands: boolean;
  /** Aborts when all calls of the term have to have ended; aborted where no term runs. */
  readonly signal: AbortSignal;
}

/** A call that only the leader may make, by a replica that does not lead, or not any more. */
export class FencedError extends Error {
  constructor() {
    super("this replica does not lead, or not any more: nothing was sent");
    this.name = "FencedError";
  }
}

/** The client of a term: reads end with the fence, and a write leaves only while it stands, be it sent again. */
export function fencedClient(client: KubeClient, fence: Fence): KubeClient {
  function mayLeave(): void {
    if (!fence.stands) throw new FencedError();
  }

  const during = <O extends CallOptions, R>(
    options: O | undefined,
    call: (options: O | CallOptions) => Promise<R>,
  ): Promise<R> =>
    withSignals(
      [options?.signal, fence.signal],
      (signal) => call({ ...options, signal }),
    );

  /** Checked here too, for clients that send nothing. */
  const write = <O extends CallOptions, R>(
    options: O | undefined,
    call: (options: O | CallOptions) => Promise<R>,
  ): Promise<R> =>
    during(options, (bounded) => {
      mayLeave();
      return call({ ...bounded, mayLeave });
    });

  return {
    get: (kind, key, options) => during(options, (it) => client.get(kind, key, it)),
    list: (kind, options) => during(options, (it) => client.list(kind, it)),
    create: (kind, object, options) => write(options, (it) => client.create(kind, object, it)),
    replace: (kind, object, options) => write(options, (it) => client.replace(kind, object, it)),
    patch: (kind, key, patch, options) =>
      write(options, (it) => client.patch(kind, key, patch, it)),
    delete: (kind, key, options) => write(options, (it) => client.delete(kind, key, it)),
    createSubresource: (kind, key, subresource, body, options) =>
      write(options, (it) => client.createSubresource(kind, key, subresource, body, it)),
    read: (path, options) =>
      (options?.method ?? "GET") === "GET"
        ? during(options, (it) => client.read(path, it))
        : write(options, (it) => client.read(path, it)),
    // What follows the cluster is no call of a term.
    watch: (kind, options) => client.watch(kind, options),
    stream: (path, options) => client.stream(path, options),
  };
}
