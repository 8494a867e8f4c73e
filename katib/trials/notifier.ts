/** Events for notices, each recorded once. */
import { createNotices } from "../../platform/base/notices.ts";
import type { EventRecorder } from "../../platform/kube/events.ts";
import type { Notice } from "../../trials/plan/notice.ts";

/** Most notices that are remembered. */
const REMEMBERED = 10_000;

/** Returns a function that records those notices as warning events that were not recorded before. */
export function createNotifier(
  events: Pick<EventRecorder, "record">,
): (notices: readonly Notice[]) => void {
  const isNews = createNotices(REMEMBERED);
  return (notices) => {
    for (const { about, reason, message } of notices) {
      const key = [about.kind, about.namespace, about.name, about.uid, reason, message].join("\n");
      if (isNews(key)) events.record(about, { type: "Warning", reason, message });
    }
  };
}
