/** Informer of a kind that the cluster may not serve: it rests until the API server does. */
import { getLogger } from "@logtape/logtape";
import { systemClock } from "../../base/clock.ts";
import { isForbidden, isNotFound, messageOf } from "../errors.ts";
import { createGate } from "../../base/gate.ts";
import { createSleeper } from "../../base/sleeper.ts";
import { createInformer, type Informer, type InformerOptions } from "./informer.ts";
import { type KubeObject, withMetadataOnly } from "../resource.ts";

/** An {@link Informer} that counts as synced, and empty, while its kind is not served. */
export interface RestingInformer<T> extends Informer<T> {
  /** Whether it was found that the kind is not served, or may not be read, and nothing has changed. */
  readonly resting: boolean;
  /** Checks at once, if it rests, because the kind may be served now. */
  rouse(): void;
}

/** How often the API server is asked whether it serves the kind, in milliseconds. */
export const REST_MS = 10_000;
/** Deadline of one such question, in milliseconds. */
const ASK_MS = 5_000;
/** No two questions are closer than this, in milliseconds, however often it is roused. */
const AT_MOST_EVERY_MS = 1_000;

const logger = getLogger(["milepost", "kube", "informer"]);

/** Options of {@link createRestingInformer}. */
export interface RestingInformerOptions<T> extends InformerOptions<T> {
  /** Called when the API server serves the kind after all. */
  readonly onServed?: () => void;
}

/** Creates the cache; {@link Informer.run} checks for the kind, then lists and watches it. */
export function createRestingInformer<T extends KubeObject>(
  options: RestingInformerOptions<T>,
): RestingInformer<T> {
  const { client, kind, onServed, clock = systemClock, random = Math.random } = options;
  const informer = createInformer(options);
  const gate = createGate();
  let resting = false;
  const sleeper = createSleeper(clock);

  async function ask(signal: AbortSignal): Promise<"served" | "absent" | "unknown"> {
    try {
      await client.list(withMetadataOnly(kind), { limit: 1, signal, deadlineMs: ASK_MS });
      return "served";
    } catch (error) {
      if (!isNotFound(error) && !isForbidden(error)) {
        if (!signal.aborted) {
          logger.debug("cannot check whether the API server serves a kind", {
            kind: kind.kind,
            error: messageOf(error),
          });
        }
        return "unknown";
      }
      if (!resting) tell(error);
      return "absent";
    }
  }

  /** Once: that most clusters have no such kind is nothing to repeat. */
  function tell(error: unknown): void {
    const message = isNotFound(error)
      ? "the API server does not serve this kind; what needs it rests until its CRD is installed"
      : "this kind may not be read; what needs it rests until the role allows it";
    logger.info(message, { kind: kind.kind, group: kind.group, error: messageOf(error) });
  }

  async function pause(signal: AbortSignal): Promise<void> {
    await clock.sleep(AT_MOST_EVERY_MS, signal);
    await sleeper.sleep(REST_MS * (0.8 + 0.2 * random()) - AT_MOST_EVERY_MS, signal);
  }

  async function untilServed(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const answer = await ask(signal);
      if (answer === "served") break;
      resting = answer === "absent" || resting;
      if (resting) gate.pass();
      await pause(signal);
    }
    const wasResting = resting;
    resting = false;
    if (!wasResting || signal.aborted) return;
    logger.info("the API server serves this kind now", { kind: kind.kind, group: kind.group });
    onServed?.();
  }

  return {
    get: informer.get,
    list: informer.list,
    byIndex: informer.byIndex,
    onChange: informer.onChange,
    get synced() {
      return gate.open;
    },
    whenSynced: (signal) => gate.wait(signal),
    get resting() {
      return resting;
    },
    rouse: sleeper.wake,
    async run(signal) {
      await untilServed(signal);
      informer.whenSynced(signal).then((synced) => synced && gate.pass());
      await informer.run(signal);
      gate.stop();
    },
  };
}
