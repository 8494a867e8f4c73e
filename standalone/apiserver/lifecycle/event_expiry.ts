/** Expiry of events by age and number. */
import { every, systemClock } from "../../../platform/base/clock.ts";
import type { ApiObject } from "../objects/api_object.ts";
import type { Context } from "../operations/context.ts";
import { KEYS } from "../storage/resource_keys.ts";

const EVENT_TTL_MS = 3600_000;
const EVENTS_MAX = 10_000;
const SWEEP_INTERVAL_MS = 60_000;

function timeOf({ lastTimestamp, eventTime, metadata }: ApiObject): number {
  const time = lastTimestamp ?? eventTime ?? metadata.creationTimestamp;
  return Date.parse(typeof time === "string" ? time : metadata.creationTimestamp) || 0;
}

/** Removes events that were not repeated for an hour, and the oldest ones beyond the limit. */
function expireEvents({ store, now }: Pick<Context, "store" | "now">): void {
  const newest = store.list(KEYS.events).sort((a, b) => timeOf(b) - timeOf(a));
  newest.forEach((event, index) => {
    if (index < EVENTS_MAX && timeOf(event) > now() - EVENT_TTL_MS) return;
    store.remove(KEYS.events, event.metadata.namespace, event.metadata.name);
  });
}

/** Starts removing old events every minute and returns a function that stops it. */
export function startEventExpiry(context: Context): () => Promise<void> {
  const stop = every(systemClock, SWEEP_INTERVAL_MS, () => expireEvents(context));
  return () => Promise.resolve(stop());
}
