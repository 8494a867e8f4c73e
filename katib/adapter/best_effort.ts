/** Best-effort recording of jobs that did not ask for a log: an unavailable log never delays them. */
import type { Answer, ObservedPush } from "./adapter.ts";
import type { LogActor } from "./log_actor.ts";

const NOT_RECORDED: Answer = {
  ok: true,
  warnings: ["the observation log is not available: this push is shown, and not recorded"],
};

/**
 * Answers that the push was taken, with a warning where the log did not take it. While the log is down
 * nobody waits for it, and one push at a time goes on trying.
 */
export function recordBestEffort(
  actor: LogActor,
  push: ObservedPush,
  signal: AbortSignal,
): Answer | Promise<Answer> {
  if (!actor.failing) {
    return actor.accept(push, signal).then((answer) => answer.ok ? answer : NOT_RECORDED);
  }
  if (actor.idle) actor.accept(push, signal);
  return NOT_RECORDED;
}
