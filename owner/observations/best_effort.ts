/** Best-effort recording of jobs that did not ask for a log: an unavailable log never delays them. */
import type { PushAnswer } from "../../crds/wire/push_answer.ts";
import type { Push } from "../../crds/wire/push.ts";
import type { LogActor } from "./log_actor.ts";

const NOT_RECORDED: PushAnswer = {
  ok: true,
  isUnrecorded: true,
  warnings: ["the observation log is not available: the push was accepted but not recorded"],
};

/**
 * Records a push, and accepts it even if the log does not, with a warning. While the log is unavailable no
 * push waits for it, and one push at a time tries again.
 */
export function recordBestEffort(
  actor: LogActor,
  push: Push,
  signal: AbortSignal,
): PushAnswer | Promise<PushAnswer> {
  if (!actor.failing) {
    return actor.accept(push, signal).then((answer) => answer.ok ? answer : NOT_RECORDED);
  }
  if (actor.idle) actor.accept(push, signal);
  return NOT_RECORDED;
}
