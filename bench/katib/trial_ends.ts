/** Times of the ends of trials, as a watching client sees them. */
import { KINDS } from "../../crds/kinds.ts";
import type { Trial } from "../../crds/trial.ts";
import type { KubeClient } from "../../platform/kube/client.ts";

/** A trial with the condition that was waited for. */
export interface Ended {
  readonly trial: Trial;
  /** The time at which the watch showed it, in milliseconds since the epoch. */
  readonly atMs: number;
}

/** Ends of trials that are followed. */
export interface TrialEnds extends AsyncDisposable {
  /** Resolves with the end of that trial. Rejects where the watch ends before. */
  of(name: string): Promise<Ended>;
}

/** Follows the trials of a namespace until each has a True condition of that type. */
export async function followEnds(
  client: KubeClient,
  namespace: string,
  type: string,
): Promise<TrialEnds> {
  const stop = new AbortController();
  const waiting = new Map<string, PromiseWithResolvers<Ended>>();
  const entry = (name: string) => {
    const known = waiting.get(name) ?? Promise.withResolvers<Ended>();
    waiting.set(name, known);
    return known;
  };
  const { resourceVersion } = await client.list(KINDS.trial, { namespace });
  const watching = (async () => {
    const events = client.watch(KINDS.trial, { namespace, resourceVersion, signal: stop.signal });
    for await (const event of events) {
      if (event.type === "error") throw event.error;
      if (event.type === "bookmark" || event.type === "problem") continue;
      const { object } = event;
      const isEnd = object.status?.conditions?.some((it) =>
        it.type === type && it.status === "True"
      );
      if (isEnd) entry(object.metadata.name ?? "").resolve({ trial: object, atMs: Date.now() });
    }
    if (!stop.signal.aborted) throw new Error("the watch of trials ended");
  })();
  watching.catch((error) => {
    for (const { reject } of waiting.values()) reject(error);
  });
  return {
    of: (name) => entry(name).promise,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await watching.catch(() => {});
    },
  };
}
