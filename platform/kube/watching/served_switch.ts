/** Switch of a kind that the API server may not serve: it is on while the kind can be listed. */
import { getLogger } from "@logtape/logtape";
import { type Clock, systemClock } from "../../base/clock.ts";
import { createPoll } from "../../base/poll.ts";
import { createSwitch } from "../../base/switch.ts";
import type { KubeClient } from "../client.ts";
import { isNotFound, messageOf } from "../errors.ts";
import type { Kind } from "../resource.ts";
import { listRefusal } from "./served_kinds.ts";

/** Longest time between two questions about a kind that is not served, in milliseconds. */
export const REST_MS = 10_000;

const logger = getLogger(["milepost", "kube", "informer"]);

/** A kind that may not be served. */
export type ServedSwitch = ReturnType<typeof createServedSwitch>;

/** Creates it; nothing is known before it runs. */
export function createServedSwitch(options: {
  readonly client: Pick<KubeClient, "list">;
  readonly kind: Kind<unknown>;
  readonly clock?: Clock;
  /** A number from 0 up to 1. Default `Math.random`. */
  readonly random?: () => number;
  /** Called when the API server serves the kind after all. */
  readonly onServed?: () => void;
}) {
  const { client, kind, onServed, clock = systemClock, random } = options;
  const served = createSwitch();
  const names = { kind: kind.kind, group: kind.group };
  /** Whether a list or a watch was 404: one replica of an API server may say so while it starts. */
  let inDoubt = false;

  /** Once: that most clusters have no such kind is nothing to repeat. */
  function rest(why: unknown): void {
    if (served.on === false) return;
    const message = isNotFound(why)
      ? "the API server does not serve this kind; what needs it rests until its CRD is installed"
      : "this kind may not be read; what needs it rests until the role allows it";
    logger.info(message, { ...names, error: messageOf(why) });
    served.turn(false);
  }

  function begin(): void {
    const wasResting = served.on === false;
    if (wasResting) logger.info("the API server serves this kind now", names);
    served.turn(true);
    if (wasResting) onServed?.();
  }

  const poll = createPoll({
    clock,
    random,
    everyMs: REST_MS,
    async ask(signal) {
      if (served.on && !inDoubt) return;
      const refusal = await listRefusal(client, kind, signal);
      inDoubt = false;
      if (refusal === undefined) begin();
      // One that may not be read for a while keeps what was read.
      else if (!served.on || isNotFound(refusal)) rest(refusal);
    },
    onFailure(error) {
      const message = "cannot check whether the API server serves a kind";
      logger.debug(message, { kind: kind.kind, error: messageOf(error) });
    },
  });
  return {
    /** On while objects of the kind can be listed. */
    served,
    /** Has it find out soon, because the kind may be served now. */
    wake: poll.wake,
    /** Takes note that a list or a watch failed: after a 404 it finds out soon whether the kind is served still. */
    failed(error: unknown): void {
      if (!served.on || !isNotFound(error)) return;
      inDoubt = true;
      poll.wake();
    },
    /** Finds out until `signal` aborts; the API server is asked only while the kind is not served, or in doubt. */
    run: poll.run,
  };
}
