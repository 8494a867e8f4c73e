/** Body of a push: its schema, and the problems of one that does not fit. */
import { z } from "zod";
import { jsonOfBytes } from "../../platform/base/json.ts";
import { DNS_LABEL_MAX, PUSH_LIMITS } from "../names.ts";
import type { PushedStatus } from "../trainjob.ts";
import type { FailureCause } from "../../platform/http/refusals.ts";

/** Most problems that one response names. */
export const MAX_CAUSES = 20;
const INT32_MAX = 2_147_483_647;

/** A push as it is read from the wire: only what is known, nulls left out. */
export interface PushBody {
  /** Absent if the client had nothing to report: then nothing changes. */
  readonly trainerStatus?: PushedStatus;
  /** Of a history: what came before `trainerStatus`, in order. */
  readonly earlier?: readonly PushedStatus[];
  /** Number of the push, if the client counts them. */
  readonly sequence?: number;
  /** Name of the container that pushes, if it says so. */
  readonly container?: string;
}

/** A body that was understood, or everything that is wrong with it (at most 20 causes). */
export type ParsedPush =
  | { readonly ok: true; readonly push: PushBody }
  | { readonly ok: false; readonly causes: readonly FailureCause[] };

function wholeNumber(min: number, max: number) {
  const error = `must be a whole number from ${min} to ${max}`;
  return z.int({ error }).min(min, { error }).max(max, { error });
}

function text(max: number) {
  const error = `must be a string of 1 to ${max} characters`;
  // Counted in code points, as the API server counts them.
  return z.string({ error }).refine((value) => {
    const length = value.length <= max ? value.length : [...value].length;
    return length >= 1 && length <= max;
  }, { error });
}

const metric = z.object(
  { name: text(PUSH_LIMITS.metricNameLength), value: text(PUSH_LIMITS.metricValueLength) },
  { error: "must be an object with name and value" },
);

const TOO_MANY = `must be a list of at most ${PUSH_LIMITS.metrics} metrics`;
// The length is checked first: the items of an over-long list are not looked at.
const metrics = z.array(z.unknown(), { error: TOO_MANY })
  .max(PUSH_LIMITS.metrics, { error: TOO_MANY })
  .pipe(z.array(metric));

const TIME = "must be a time as RFC 3339 has it, for example 2025-01-23T10:30:45Z";
const time = z.string({
  error: (issue) =>
    issue.input === undefined || issue.input === null
      ? "lastUpdatedTime is required when trainerStatus is present"
      : TIME,
}).refine(isTime, { error: TIME });

const ISO_TIME = z.regexes.datetime({ offset: true });
function isTime(value: string): boolean {
  const isShaped = value.length <= 64 && /T\d\d:\d\d:\d\d/.test(value) && ISO_TIME.test(value);
  if (!isShaped || value.endsWith("Z")) return isShaped;
  // In UTC it may lie in a year that the API server cannot read.
  const year = new Date(value).getUTCFullYear();
  return year >= 0 && year <= 9999;
}

/** Report of a trainer, as it is read from the wire. */
export const trainerStatusSchema = z.object({
  progressPercentage: wholeNumber(0, 100).nullish(),
  estimatedRemainingSeconds: wholeNumber(0, INT32_MAX).nullish(),
  metrics: metrics.nullish(),
  step: wholeNumber(0, Number.MAX_SAFE_INTEGER).nullish(),
  lastUpdatedTime: time,
}, { error: "must be an object" });

/** Name of the container that pushes. */
export const containerSchema = text(DNS_LABEL_MAX).nullish();

const pushSchema = z.object({
  trainerStatus: trainerStatusSchema.nullish(),
  sequence: wholeNumber(0, Number.MAX_SAFE_INTEGER).nullish(),
  container: containerSchema,
}, { error: "must be a JSON object with trainerStatus" }).nullable();

function fieldOf(path: readonly PropertyKey[]): string {
  return path.reduce<string>((field, part) => {
    if (typeof part === "number") return `${field}[${part}]`;
    return field === "" ? String(part) : `${field}.${String(part)}`;
  }, "");
}

/** Returns the problems, at most {@link MAX_CAUSES}, with the paths of fields below `root`. */
export function causesOf(error: z.ZodError, root: readonly PropertyKey[] = []): FailureCause[] {
  return error.issues.slice(0, MAX_CAUSES).map((issue) => ({
    field: fieldOf([...root, ...issue.path]),
    message: issue.message,
  }));
}

/** Returns a status without null fields. */
export function compactStatus(status: z.infer<typeof trainerStatusSchema>): PushedStatus {
  const { progressPercentage, estimatedRemainingSeconds, metrics, step, lastUpdatedTime } = status;
  return {
    ...(typeof progressPercentage === "number" && { progressPercentage }),
    ...(typeof estimatedRemainingSeconds === "number" && { estimatedRemainingSeconds }),
    ...(metrics && { metrics }),
    ...(typeof step === "number" && { step }),
    lastUpdatedTime,
  };
}

/** Checks the value of a push's JSON. Unknown fields are left out; null counts as absent. */
export function parsePush(value: unknown): ParsedPush {
  const parsed = pushSchema.safeParse(value);
  if (!parsed.success) return { ok: false, causes: causesOf(parsed.error) };
  const { trainerStatus, sequence, container } = parsed.data ?? {};
  return {
    ok: true,
    push: {
      ...(trainerStatus && { trainerStatus: compactStatus(trainerStatus) }),
      ...(typeof sequence === "number" && { sequence }),
      ...(typeof container === "string" && { container }),
    },
  };
}

const NOT_JSON: ParsedPush = {
  ok: false,
  causes: [{ field: "", message: "must be JSON in UTF-8" }],
};

/** Reads the bytes of a body: strict UTF-8, one JSON value, then `parse`. */
export function readJson(
  bytes: Uint8Array,
  parse: (value: unknown) => ParsedPush,
): ParsedPush {
  const value = jsonOfBytes(bytes);
  return value === undefined ? NOT_JSON : parse(value);
}

/** Reads the bytes of a push: strict UTF-8, one JSON value, then {@link parsePush}. */
export function readPush(bytes: Uint8Array): ParsedPush {
  return readJson(bytes, parsePush);
}
