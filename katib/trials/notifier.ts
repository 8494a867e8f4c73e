/** Turns notices into events, each once: what does not change is no news however often it is found. */
import { LRUCache } from "lru-cache";
import type { EventRecorder } from "../../kube/events.ts";
import type { Notice } from "../../trials/plan/notice.ts";

/** Notices that are remembered as told. */
const REMEMBERED = 10_000;

/** Answers the function that tells what was not told before, as warnings. */
export function createNotifier(
  events: Pick<EventRecorder, "record">,
): (notices: readonly Notice[]) => void {
  const told = new LRUCache<string, true>({ max: REMEMBERED });
  return (notices) => {
    for (const { about, reason, message } of notices) {
      const key = [about.kind, about.namespace, about.name, about.uid, reason, message].join("\n");
      if (told.has(key)) continue;
      told.set(key, true);
      events.record(about, { type: "Warning", reason, message });
    }
  };
}
