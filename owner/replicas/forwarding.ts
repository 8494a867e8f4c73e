/** Messages by which a replica forwards accepted pushes to the owner, with their path and bounds. */
import { z } from "zod";
import { jsonOfBytes } from "../../platform/base/json.ts";
import type { JobKinds } from "../../crds/job_kinds.ts";
import { jobMessage, jobMessageSchema } from "../../crds/wire/job_message.ts";
import { nameSchema, uidSchema } from "../../crds/wire/message_fields.ts";
import { HISTORY_LIMITS } from "../../crds/names.ts";
import { type PushAnswer, pushAnswerSchema } from "../../crds/wire/push_answer.ts";
import { parsePush, type Push } from "../../crds/wire/push.ts";
import type { CallOutcome } from "../../platform/http/replicas/calls.ts";
import type { TermRefusal } from "../../platform/http/replicas/terms.ts";
import { OTHER_PROTOCOL, PROTOCOL } from "./forward_asks.ts";
import { parseHistory } from "../../crds/wire/history.ts";

/** Path to which pushes are forwarded, with POST. */
export const PUSHES_PATH = `${PROTOCOL}/pushes`;
/** Maximum bytes of a call: the longest history as it is serialized here, with original times and job. */
export const FORWARD_MAX_BYTES = HISTORY_LIMITS.bodyBytes + 131_072;
/** Pushes that go in one call. */
export const MAX_BATCH = 64;
/** Bytes of several pushes that go in one call. */
export const MAX_BATCH_BYTES = 262_144;
/** Maximum bytes of an answer. */
export const ANSWER_MAX_BYTES = 1_048_576;

/** How a forwarding call ended: `forwarded_pushes_total{result}`. */
export type ForwardOutcome =
  | "accepted"
  /** The owner answered that the client shall come again. */
  | "refused"
  /** The asked replica owns nothing. */
  | "not_owner"
  /** The asked replica knows of a newer owner. */
  | "older_transition"
  /** The owner is of another version, and does not know the call. */
  | "older_owner"
  | "unreachable"
  | "timeout"
  /** Too many calls under way. */
  | "saturated";

/** The outcome, with the answer for the client if there is one. */
export interface ForwardResult {
  readonly outcome: ForwardOutcome;
  readonly acceptance?: PushAnswer;
}

const envelopeSchemaOf = (kinds: JobKinds) =>
  z.object({
    transitions: z.int().min(0),
    job: jobMessageSchema(kinds),
    pod: z.object({ name: nameSchema, uid: uidSchema }),
    receivedMs: z.number(),
    sentTimes: z.array(z.string().max(64).nullable()).max(HISTORY_LIMITS.samples).optional(),
    /** The body of a push, or that of a history. */
    push: z.unknown().optional(),
    history: z.unknown().optional(),
  });

/** A push on its way, and the owner's term that it is meant for. */
export interface ForwardedPush {
  readonly transitions: number;
  readonly push: Push;
}

/** Returns the bytes of a forwarded push. */
export function encodeForwardedPush({ transitions, push }: ForwardedPush): Uint8Array {
  const { job, pod, receivedMs, trainerStatus, earlier, sequence, container, sentTimes } = push;
  return new TextEncoder().encode(JSON.stringify({
    transitions,
    job: jobMessage(job),
    pod: { name: pod.name, uid: pod.uid },
    receivedMs,
    ...(sentTimes && { sentTimes: sentTimes.map((time) => time ?? null) }),
    ...(earlier
      ? { history: { samples: [...earlier, trainerStatus], container } }
      : { push: { trainerStatus, sequence, container } }),
  }));
}

const LINE_END = 10;

/** Returns the bytes of a call: a line for each encoded push. JSON as it is written here has no line ends. */
export function joinPushes(pushes: readonly Uint8Array[]): Uint8Array {
  const [first] = pushes;
  if (pushes.length === 1 && first !== undefined) return first;
  const all = new Uint8Array(pushes.reduce((sum, push) => sum + push.length + 1, 0));
  let offset = 0;
  for (const push of pushes) {
    all.set(push, offset);
    all[offset + push.length] = LINE_END;
    offset += push.length + 1;
  }
  return all;
}

/** Splits a call into encoded pushes; undefined if there are too many. */
export function splitPushes(bytes: Uint8Array): Uint8Array[] | undefined {
  const pushes: Uint8Array[] = [];
  for (let start = 0; start < bytes.length;) {
    if (pushes.length === MAX_BATCH) return undefined;
    const found = bytes.indexOf(LINE_END, start);
    const end = found < 0 ? bytes.length : found;
    pushes.push(bytes.subarray(start, end));
    start = end + 1;
  }
  return pushes;
}

/**
 * Creates the reader of forwarded pushes. It checks a push as if it came from a pod, and returns undefined
 * if something is wrong with it.
 */
export function createPushDecoder(
  kinds: JobKinds,
): (bytes: Uint8Array) => ForwardedPush | undefined {
  const envelopeSchema = envelopeSchemaOf(kinds);
  return (bytes) => {
    const envelope = envelopeSchema.safeParse(jsonOfBytes(bytes));
    if (!envelope.success) return undefined;
    const { transitions, job, pod, receivedMs, push, history, sentTimes } = envelope.data;
    const read = history === undefined ? parsePush(push) : parseHistory(history);
    if (!read.ok || read.push.trainerStatus === undefined) return undefined;
    const { trainerStatus, earlier, sequence, container } = read.push;
    return {
      transitions,
      push: {
        job,
        pod,
        receivedMs,
        trainerStatus,
        ...(earlier && { earlier }),
        ...(sentTimes && { sentTimes: sentTimes.map((time) => time ?? undefined) }),
        sequence,
        ...(container !== undefined && { container }),
      },
    };
  };
}

const answerSchema = z.union([
  pushAnswerSchema,
  z.object({ refusal: z.enum(["not_owner", "older_transition"]) }),
]);

/** The owner's answer, or that the asked replica is not the owner. */
export type ForwardAnswer = PushAnswer | TermRefusal;

const answersSchema = z.object({ answers: z.array(answerSchema) });

/** Reads the owner's answers to the pushes of a call, in their order. Undefined if they cannot be parsed. */
export function decodeForwardAnswers(bytes: Uint8Array): ForwardAnswer[] | undefined {
  const parsed = answersSchema.safeParse(jsonOfBytes(bytes));
  return parsed.success ? parsed.data.answers : undefined;
}

/** Returns the result of a call that was answered. */
export function resultOfAnswer(answer: ForwardAnswer | undefined): ForwardResult {
  if (answer === undefined) return { outcome: "unreachable" };
  if ("refusal" in answer) return { outcome: answer.refusal };
  return { outcome: answer.ok ? "accepted" : "refused", acceptance: answer };
}

/** Returns the result of a call without an answer. */
export function resultOfNoAnswer(
  outcome: Exclude<CallOutcome, { readonly bytes: Uint8Array }>["outcome"],
): ForwardResult {
  if (outcome !== "unknown_call") return { outcome };
  return { outcome: "older_owner", acceptance: OTHER_PROTOCOL };
}
