/** Reading of the answers of the page's API: whatever comes becomes what the page shows, or nothing. Pure. */

/** One job in the list. All its texts are hostile. */
export interface Row {
  readonly uid: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly state: string;
  readonly message?: string;
  readonly progress?: number;
  readonly remainingSeconds?: number;
  readonly metrics: readonly { readonly name: string; readonly value: string }[];
  readonly updatedMs?: number;
  readonly createdMs?: number;
  readonly endedMs?: number;
  readonly trial?: string;
  readonly experiment?: string;
}

/** A kind, in a namespace or in all, that the viewer may not list. */
export interface Denied {
  readonly kind: string;
  readonly namespace?: string;
}

/** News of the list. */
export interface ListNews {
  readonly rows: readonly Row[];
  /** Absent: the rows are all. */
  readonly order?: readonly string[];
  readonly total: number;
  readonly states: ReadonlyMap<string, number>;
  /** Those that there are, whichever are shown. */
  readonly kinds: readonly string[];
  readonly denied: readonly Denied[];
}

/** A point of a curve. */
export type CurvePoint = readonly [timeMs: number, min: number, max: number, last: number];
/** Something that happened to a job. */
export interface Mark {
  readonly timeMs: number;
  readonly kind: string;
  readonly text: string;
}
/** The curve of a metric. */
export interface Curve {
  readonly name: string;
  readonly isProgress: boolean;
  readonly points: readonly CurvePoint[];
  /** Of a time range: what the points were made of, and whether the log had not all of it. */
  readonly source?: "log" | "curve";
  readonly cut?: boolean;
}
/** The curves of a job. */
export interface JobCurves {
  readonly key: string;
  readonly curves: readonly Curve[];
  readonly marks: readonly Mark[];
}
/** News of curves: each job whole. */
export interface CurveNews {
  readonly jobs: readonly JobCurves[];
  /** Keys of the jobs that are not there, or not for this viewer. */
  readonly missing: readonly string[];
}

/** Fields of a JSON object. */
export type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns the fields of a value; none if it has none. */
export const fieldsOf = (value: unknown): Fields => isFields(value) ? value : {};
/** Returns a text; of anything else the empty one. */
export const textOf = (value: unknown): string =>
  typeof value === "string" ? value : typeof value === "number" ? String(value) : "";
/** Returns a list; of anything else the empty one. */
export const listOf = (value: unknown): readonly unknown[] => Array.isArray(value) ? value : [];
/** Returns a number, or undefined. */
export const numberOf = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isFinite(value) ? value : undefined;
/** Returns milliseconds since the epoch of a time such as `2026-01-31T12:00:00Z`. */
export function timeOf(value: unknown): number | undefined {
  const ms = typeof value === "string" ? Date.parse(value) : NaN;
  return Number.isNaN(ms) ? undefined : ms;
}

/** The object without its fields that are undefined, or the empty text. */
function present<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> };
function present(fields: object): object {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== ""),
  );
}

/** Parts of a job's name. */
export interface JobName {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** Returns `<plural>.<group>/<namespace>/<name>`. */
export const keyOf = ({ kind, namespace, name }: JobName) => `${kind}/${namespace}/${name}`;

/** Reads the parts of a job's name. */
export function nameOf(value: unknown): JobName {
  const { kind, namespace, name } = fieldsOf(value);
  return { kind: textOf(kind), namespace: textOf(namespace), name: textOf(name) };
}

function rowOf(value: unknown): Row {
  const it = fieldsOf(value);
  return {
    ...nameOf(it),
    uid: textOf(it.uid),
    state: textOf(it.state),
    metrics: listOf(it.metrics).map(fieldsOf)
      .map(({ name, value }) => ({ name: textOf(name), value: textOf(value) })),
    ...present({
      message: textOf(it.message),
      progress: numberOf(it.progress),
      remainingSeconds: numberOf(it.remainingSeconds),
      updatedMs: timeOf(it.updated),
      createdMs: timeOf(it.created),
      endedMs: timeOf(it.ended),
      trial: textOf(it.trial),
      experiment: textOf(it.experiment),
    }),
  };
}

/** Reads a window of the list, or news of it. */
export function readList(value: unknown): ListNews {
  const it = fieldsOf(value);
  return {
    rows: listOf(it.rows).map(rowOf),
    ...(it.order !== undefined && { order: listOf(it.order).map(textOf) }),
    total: numberOf(it.total) ?? 0,
    states: new Map(
      Object.entries(fieldsOf(it.states)).map(([state, count]) => [state, numberOf(count) ?? 0]),
    ),
    kinds: listOf(it.kinds).map(textOf),
    denied: listOf(it.denied).map(fieldsOf).map(({ kind, namespace }) => ({
      kind: textOf(kind),
      ...present({ namespace: textOf(namespace) }),
    })),
  };
}

function pointOf(value: unknown): CurvePoint | undefined {
  const [time, min, max, last] = listOf(value).map(numberOf);
  if (time === undefined || last === undefined) return undefined;
  return [time, min ?? last, max ?? last, last];
}

/** Reads curves. */
export function readCurves(value: unknown): CurveNews {
  const { curves, missing } = fieldsOf(value);
  return {
    jobs: listOf(curves).map(fieldsOf).map(({ job, metrics, marks }) => ({
      key: keyOf(nameOf(job)),
      curves: listOf(metrics).map(fieldsOf).map(({ name, isProgress, points, source, cut }) => ({
        name: textOf(name),
        isProgress: isProgress === true,
        points: listOf(points).map(pointOf).filter((it) => it !== undefined),
        ...(source === "log" || source === "curve" ? { source } : {}),
        ...(cut === true && { cut }),
      })),
      marks: listOf(marks).map(fieldsOf).map(({ time, kind, text }) => ({
        timeMs: timeOf(time) ?? 0,
        kind: textOf(kind),
        text: textOf(text),
      })),
    })),
    missing: listOf(missing).map((it) => keyOf(nameOf(it))),
  };
}

/** Returns the message of a `metav1.Status`, or what stands in for it. */
export function statusMessage(text: string, otherwise: string): string {
  try {
    return textOf(fieldsOf(JSON.parse(text)).message) || otherwise;
  } catch {
    return otherwise;
  }
}
