/** Push: what is handed to the owner of a job's state, its body on the wire, and the problems of one that does not fit. */
import { z } from "zod";
import { jsonOfBytes } from "../../platform/base/json.ts";
import type { FailureCause } from "../../platform/http/refusals.ts";
import { fieldPath } from "../field_problem.ts";
import type { JobRef } from "../job_kind.ts";
import { type Heartbeat, heartbeatSchema } from "./heartbeat.ts";
import { containerSchema, type Sample, sampleOf, sampleSchema, wholeNumber } from "./sample.ts";

/** Most problems that one response names. */
export const MAX_CAUSES = 20;

/** Origin of a push, once ownership is known. */
export interface PushOrigin {
  readonly job: JobRef;
  readonly pod: { readonly name: string; readonly uid: string };
}

/** A heartbeat that passed every check. */
export interface Beat extends PushOrigin, Heartbeat {}

/** Hands a heartbeat to its owner; soft: one that is lost is made up for by the next. */
export type TakeBeat = (beat: Beat) => void;

/** A push as it is read from the wire: only what is known, nulls left out. */
export interface PushBody {
  /** Absent if the client had nothing to report: then nothing changes. */
  readonly trainerStatus?: Sample;
  /** Of a history: what came before `trainerStatus`, in order. */
  readonly earlier?: readonly Sample[];
  /** Number of the push, if the client counts them. */
  readonly sequence?: number;
  /** Name of the container that pushes, if it says so: a convention, since its pod has one token. */
  readonly container?: string;
  /** Where the processes of the pod are. */
  readonly heartbeat?: Heartbeat;
}

/** A push that passed every check, as it is handed to its owner. */
export interface Push extends PushOrigin, Omit<PushBody, "heartbeat"> {
  readonly trainerStatus: Sample;
  /**
   * Original times of those samples of `earlier` and `trainerStatus`, in order, whose time was adjusted;
   * used to recognise retries. Absent if no time was adjusted.
   */
  readonly sentTimes?: readonly (string | undefined)[];
  /** Wall-clock time of arrival, in milliseconds. */
  readonly receivedMs: number;
}

/** A body that was understood, or everything that is wrong with it (at most 20 causes). */
export type ParsedPush =
  | { readonly ok: true; readonly push: PushBody }
  | { readonly ok: false; readonly causes: readonly FailureCause[] };

const pushSchema = z.object({
  trainerStatus: sampleSchema.nullish(),
  sequence: wholeNumber(0, Number.MAX_SAFE_INTEGER).nullish(),
  container: containerSchema,
  heartbeat: heartbeatSchema.nullish(),
}, { error: "must be a JSON object with trainerStatus" }).nullable();

/** Returns the problems, at most {@link MAX_CAUSES}, with the paths of fields below `root`. */
export function causesOf(error: z.ZodError, root: readonly PropertyKey[] = []): FailureCause[] {
  return error.issues.slice(0, MAX_CAUSES).map((issue) => ({
    field: fieldPath([...root, ...issue.path]),
    message: issue.message,
  }));
}

/** Checks the value of a push's JSON. Unknown fields are left out; null counts as absent. */
export function parsePush(value: unknown): ParsedPush {
  const parsed = pushSchema.safeParse(value);
  if (!parsed.success) return { ok: false, causes: causesOf(parsed.error) };
  const { trainerStatus, sequence, container, heartbeat } = parsed.data ?? {};
  return {
    ok: true,
    push: {
      ...(trainerStatus && { trainerStatus: sampleOf(trainerStatus) }),
      ...(typeof sequence === "number" && { sequence }),
      ...(typeof container === "string" && { container }),
      ...(heartbeat && { heartbeat }),
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
