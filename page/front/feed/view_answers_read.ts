/** Reading of the answers of the page's API: rows of jobs, and their curves. Pure. */
import type { CurvesAnswer, ViewedCurves } from "../../../crds/wire/curves_answer.ts";
import type { Denied, JobRow, ListNews as SentNews } from "../../../crds/wire/row.ts";
import type { Curve as SentCurve, CurvePoint } from "../../../crds/wire/shown_curves.ts";
import {
  countOf,
  fields,
  type FieldsOf,
  ifThere,
  listWith,
  numberOf,
  type Read,
  readSettings,
  someText,
  textOf,
  timeOf,
} from "./answer_fields.ts";
import { asList, asObject } from "../../../platform/base/json.ts";
import { keyOf, nameFields, nameOf } from "./job_key.ts";

const rowOf = fields(
  {
    ...nameFields,
    uid: textOf,
    state: textOf,
    message: someText,
    progress: numberOf,
    remainingSeconds: numberOf,
    restarts: numberOf,
    restartLimit: numberOf,
    stalledSinceMs: timeOf,
    restartingSinceMs: timeOf,
    metrics: listWith(fields({ name: textOf, value: textOf })),
    updatedMs: timeOf,
    createdMs: timeOf,
    endedMs: timeOf,
    stopsByMs: timeOf,
    experiment: someText,
    optimizationJob: someText,
    configuration: readSettings,
  } satisfies FieldsOf<JobRow>,
);
/** One job in the list. All its texts are hostile. */
export type Row = ReturnType<typeof rowOf>;

/** Reads what the viewer may not list. */
export const readDenied: Read<readonly Denied[]> = listWith(
  fields({ kind: textOf, namespace: someText } satisfies FieldsOf<Denied>),
);

const listFields = fields(
  {
    rows: listWith(rowOf),
    order: ifThere(listWith(textOf)),
    total: countOf,
    kinds: listWith(textOf),
    denied: readDenied,
  } satisfies FieldsOf<Partial<SentNews>>,
);

/** News of the list; without an order the rows are all. */
export interface ListNews extends ReturnType<typeof listFields> {
  readonly states: ReadonlyMap<string, number>;
}

/** Reads a window of the list, or news of it. */
export function readList(value: unknown): ListNews {
  const states = Object.entries(asObject(asObject(value).states));
  return {
    ...listFields(value),
    states: new Map(states.map(([state, count]) => [state, countOf(count)])),
  };
}

function pointOf(value: unknown): CurvePoint | undefined {
  const [time, min, max, last, step] = asList(value).map(numberOf);
  if (time === undefined || last === undefined) return undefined;
  return [
    time,
    min ?? last,
    max ?? last,
    last,
    ...(step === undefined ? [] as const : [step] as const),
  ];
}

const curveOf = fields(
  {
    name: textOf,
    isProgress: (it) => it === true,
    isStep: (it) => it === true,
    isNonFinite: (it) => it === true,
    points: (it) => asList(it).map(pointOf).filter((point) => point !== undefined),
    source: (it) => it === "log" || it === "curve" ? it : undefined,
    cut: (it) => it === true ? it : undefined,
  } satisfies FieldsOf<SentCurve>,
);
/** The curve of a metric. */
export type Curve = ReturnType<typeof curveOf>;
/** Whether a curve has the numbers of a metric. */
export const isMetric = ({ isProgress, isStep, isNonFinite }: Omit<Curve, "points">) =>
  !isProgress && !isStep && !isNonFinite;

/** Whether two curves are of the same. */
export const isSameCurve = (one: Omit<Curve, "points">, other: Omit<Curve, "points">) =>
  one.name === other.name && one.isProgress === other.isProgress &&
  one.isStep === other.isStep && one.isNonFinite === other.isNonFinite;

const markOf = fields(
  { timeMs: (it) => timeOf(it) ?? 0, kind: textOf, text: textOf } satisfies FieldsOf<
    ViewedCurves["marks"][number]
  >,
);
/** Something that happened to a job. */
export type Mark = ReturnType<typeof markOf>;

const jobFields = fields(
  {
    job: nameOf,
    sinceMs: numberOf,
    metrics: listWith(curveOf),
    marks: listWith(markOf),
  } satisfies FieldsOf<ViewedCurves>,
);
const curvesFields = fields(
  {
    curves: listWith(jobFields),
    missing: listWith(nameOf),
    left: listWith(nameOf),
  } satisfies FieldsOf<CurvesAnswer>,
);

/** The curves of a job. */
export interface JobCurves {
  readonly key: string;
  readonly curves: readonly Curve[];
  readonly marks: readonly Mark[];
}
/** News of the curves of a job: points before `sinceMs` stay as they are; without it these are all. */
export interface JobNews extends JobCurves {
  readonly sinceMs?: number | undefined;
}
/** News of curves. */
export interface CurveNews {
  readonly jobs: readonly JobNews[];
  /** Keys of the jobs that are not there, or not for this viewer. */
  readonly missing: readonly string[];
  /** Keys of those that the answer had no room for. */
  readonly left?: readonly string[];
}

/** Reads curves. */
export function readCurves(value: unknown): CurveNews {
  const { curves, missing, left } = curvesFields(value);
  return {
    jobs: curves.map(({ job, sinceMs, metrics, marks }) => ({
      key: keyOf(job),
      sinceMs,
      curves: metrics,
      marks,
    })),
    missing: missing.map(keyOf),
    left: left.map(keyOf),
  };
}
