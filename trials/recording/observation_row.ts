/** An observation log: its rows, and the key that tells whose log it is. */

/** One value of one metric; `MetricLog` of Katib's DBManager API (`pkg/apis/manager/v1beta1/api.proto`). */
export interface ObservationRow {
  /** RFC 3339 in UTC, six digits of fraction at most: finer ones are lost in Katib's table. */
  readonly time: string;
  readonly name: string;
  readonly value: string;
}

/**
 * Whose log it is. Katib's table knows trials by their name alone; all others tell logs apart by all of
 * this. Name and UID are those of the Trial, or of the TrainJob if no Trial controls it.
 */
export interface LogKey {
  readonly kind: "trial" | "job";
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}
