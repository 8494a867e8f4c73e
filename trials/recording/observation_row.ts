/** Rows and keys of observation logs. */

/** One value of one metric; `MetricLog` of Katib's DBManager API (`pkg/apis/manager/v1beta1/api.proto`). */
export interface ObservationRow {
  /** RFC 3339 in UTC, with at most six digits of fraction: Katib's table loses finer ones. */
  readonly time: string;
  readonly name: string;
  readonly value: string;
  /** UID of the pod that pushed it; absent if the log does not keep runs (docs/decisions/0042). */
  readonly run?: string;
  /** The step of the training that the pod pushed with it; rows of one time have the same. */
  readonly step?: number;
}

/**
 * The key of a log. Name and UID are those of the Trial, or of the TrainJob if no Trial controls it. Katib's
 * table distinguishes trials only by name; all other sinks use the whole key.
 */
export interface LogKey {
  readonly kind: "trial" | "job";
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** Returns text that identifies a log among all others. */
export function logKeyText({ kind, namespace, name, uid }: LogKey): string {
  return [kind, namespace, name, uid].join("/");
}

/** Returns the key of a log by its text; undefined if there is none. */
export function logKeyOf(text: string): LogKey | undefined {
  const [kind, namespace = "", name = "", uid = "", ...rest] = text.split("/");
  const isWhole = namespace !== "" && name !== "" && uid !== "" && rest.length === 0;
  return isWhole && (kind === "trial" || kind === "job")
    ? { kind, namespace, name, uid }
    : undefined;
}
