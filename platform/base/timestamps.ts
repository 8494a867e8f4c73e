/** Times of objects: RFC 3339, as Kubernetes writes them. */

/** A time with whole seconds (`metav1.Time`). */
export function rfc3339(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d{3}Z$/, "Z");
}

/** A time with microseconds (`metav1.MicroTime`). */
export function rfc3339Micro(ms: number): string {
  return new Date(ms).toISOString().replace(/\.(\d{3})Z$/, ".$1000Z");
}

/**
 * Returns when an object that ended at that time (RFC 3339) has lived for so many seconds after it, in milliseconds since
 * the epoch; undefined if it has not ended, or lives for ever.
 */
export function expiryMs(ended: string | undefined, seconds: number | undefined) {
  return ended === undefined || seconds === undefined
    ? undefined
    : Date.parse(ended) + seconds * 1000;
}
