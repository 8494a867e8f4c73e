/** Source of observations: logs at the owner of all state. The adapter implements it. */
import type { Adapter, ObservationReader } from "../../owner/observations/adapter.ts";

/**
 * The adapter of one term, as the API uses it: reads, and requests to stop. What the API relies on beyond its types:
 *
 * - `snapshotOf` and `pageOf` also work for jobs that have ended, as long as their log is kept, and
 *   for those that this owner has not been pushed yet: then they read the sink. While a log is being
 *   replayed or out of reach they reject with a SinkError of kind `unavailable`, and its
 *   `retryAfterMs` goes to the client; they never return less than what was acknowledged.
 * - Rows of a page stand by time, ties in the order of writing, and `pageOf({ since })` leaves out those
 *   before `since`. A reader that has seen k rows of time t comes again with `{ since: t, seen: k }`, so that
 *   no page depends on the ones before it.
 * - `onChange` calls its listeners once a row is in the log, or the verdict is there, not before.
 *
 * `TrialRecording.observations` is one, undefined if no term runs on this replica.
 */
export type ObservationSource =
  & Pick<ObservationReader, "snapshotOf" | "pageOf" | "onChange">
  & Pick<Adapter, "requestStop">;
