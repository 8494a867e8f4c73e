/** Checks of a push's body by docs/reference/http.md: plain ones, none of the product's. */

/** The push that reaches the owner, if any. */
export interface JudgedStatus {
  readonly newest?: {
    readonly progressPercentage?: number;
    readonly estimatedRemainingSeconds?: number;
    readonly metrics?: readonly { readonly name: string; readonly value: string }[];
  };
  /** Statuses before the newest. */
  readonly earlier: number;
}

type Json = Record<string, unknown>;
const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isAbsent = (value: unknown): value is null | undefined =>
  value === null || value === undefined;

function isWhole(value: unknown, max: number): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 && value <= max;
}

function isShort(value: unknown): value is string {
  if (typeof value !== "string") return false;
  const { length } = Array.from(value);
  return length > 0 && length <= 64;
}

const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const isLeap = (year: number) => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);

/** Milliseconds since the epoch of a time that RFC 3339 and the API server both have. */
function timeOf(value: unknown): number | undefined {
  if (typeof value !== "string" || value.length > 64) return undefined;
  const shape = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(\.\d+)?(?:Z|([+-])(\d\d):(\d\d))$/;
  const match = shape.exec(value);
  if (match === null || match[0].length !== value.length) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7)
    .map(Number);
  const days = month === 2 && isLeap(year) ? 29 : DAYS[month - 1] ?? 0;
  if (day < 1 || day > days || hour > 23 || minute > 59 || second > 59) return undefined;
  const [offsetHours, offsetMinutes] = [Number(match[9] ?? 0), Number(match[10] ?? 0)];
  if (offsetHours > 23 || offsetMinutes > 59) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second, Math.trunc(Number(match[7] ?? 0) * 1000));
  const sign = match[8] === "-" ? 1 : -1;
  const ms = date.getTime() + sign * (offsetHours * 60 + offsetMinutes) * 60_000;
  const utcYear = new Date(ms).getUTCFullYear();
  return utcYear >= 0 && utcYear <= 9999 ? ms : undefined;
}

type Newest = NonNullable<JudgedStatus["newest"]>;

/** The status and its time; undefined where it is not one. */
function statusOf(value: unknown): { status: Newest; timeMs: number } | undefined {
  if (!isObject(value)) return undefined;
  const { progressPercentage, estimatedRemainingSeconds, metrics, step } = value;
  const timeMs = timeOf(value.lastUpdatedTime);
  if (timeMs === undefined) return undefined;
  if (!isAbsent(progressPercentage) && !isWhole(progressPercentage, 100)) return undefined;
  if (!isAbsent(estimatedRemainingSeconds) && !isWhole(estimatedRemainingSeconds, 2 ** 31 - 1)) {
    return undefined;
  }
  if (!isAbsent(step) && !isWhole(step, Number.MAX_SAFE_INTEGER)) return undefined;
  const listed: { name: string; value: string }[] = [];
  if (!isAbsent(metrics)) {
    if (!Array.isArray(metrics) || metrics.length > 256) return undefined;
    for (const metric of metrics) {
      if (!isObject(metric) || !isShort(metric.name) || !isShort(metric.value)) return undefined;
      listed.push({ name: metric.name, value: metric.value });
    }
  }
  const status = {
    ...(!isAbsent(progressPercentage) && { progressPercentage }),
    ...(!isAbsent(estimatedRemainingSeconds) && { estimatedRemainingSeconds }),
    ...(!isAbsent(metrics) && { metrics: listed }),
    ...(!isAbsent(step) && { step }),
  };
  return { status, timeMs };
}

const isContainer = (value: unknown) => isShort(value) && [...value].length <= 63;

function judgePush(value: unknown): JudgedStatus | undefined {
  if (value === null) return { earlier: 0 };
  if (!isObject(value)) return undefined;
  const { trainerStatus, sequence, container } = value;
  if (!isAbsent(container) && !isContainer(container)) return undefined;
  if (!isAbsent(sequence) && !isWhole(sequence, Number.MAX_SAFE_INTEGER)) return undefined;
  if (isAbsent(trainerStatus)) return { earlier: 0 };
  const judged = statusOf(trainerStatus);
  return judged && { newest: judged.status, earlier: 0 };
}

function judgeHistory(value: unknown): JudgedStatus | undefined {
  if (!isObject(value) || !Array.isArray(value.samples) || value.samples.length > 1000) {
    return undefined;
  }
  if (!isAbsent(value.container) && !isContainer(value.container)) return undefined;
  let newest: Newest | undefined;
  let lastMs = -Infinity;
  for (const sample of value.samples) {
    const judged = statusOf(sample);
    if (judged === undefined || judged.timeMs < lastMs) return undefined;
    lastMs = judged.timeMs;
    newest = judged.status;
  }
  return { ...(newest && { newest }), earlier: Math.max(0, value.samples.length - 1) };
}

/** What the value of a body's JSON tells; undefined where it is invalid. */
export function judgeStatus(value: unknown, isHistory: boolean): JudgedStatus | undefined {
  return isHistory ? judgeHistory(value) : judgePush(value);
}
