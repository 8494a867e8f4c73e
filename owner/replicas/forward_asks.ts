/** Questions between replicas: their envelope, which names the term of the asked owner, with paths and bounds. */
import { z } from "zod";
import { jsonOfBytes } from "../../platform/base/json.ts";
import { NOT_OWNER, type OwnTerm, termRefusal } from "../../platform/http/replicas/terms.ts";

/** Beginning of all paths: the version of the protocol. A replica of another one does not know them. */
export const PROTOCOL = "/owner/v2";
/** Path at which questions of a kind are asked, with POST. */
export const askPath = (kind: string) => `${PROTOCOL}/ask/${kind}`;
/** Path at which the changes of a kind are asked for, with POST. */
export const changesPath = (kind: string) => `${PROTOCOL}/changes/${kind}`;
/** Bytes that a question may have. */
export const ASK_MAX_BYTES = 16_384;
/** Bytes that an answer may have: the longest page of a log, and a summary of each of its metrics. */
export const ASK_ANSWER_MAX_BYTES = 8_388_608;

/** Answer for an owner of another protocol: one of the two is about to be replaced. */
export const OTHER_PROTOCOL = {
  retryAfterMs: 5000,
  reason: "the replica that owns the status of jobs is of another version that this one cannot " +
    "talk to: try again once all replicas are updated",
} as const;

/**
 * Answers a question from this replica's own state; undefined if it has none, or does not
 * understand. The caller defines what question and answer hold. Must not throw.
 */
export type AnswerAsk = (
  ask: unknown,
  signal: AbortSignal,
) => Promise<object | undefined>;

const askSchema = z.object({ transitions: z.int().min(0), ask: z.unknown() });
const answerSchema = z.object({ answer: z.looseObject({}) });

/** Returns the bytes of a question to the owner of that term. */
export function encodeAsk(ask: { readonly transitions: number; readonly ask: unknown }) {
  return new TextEncoder().encode(JSON.stringify(ask));
}

/** Reads an answer; undefined if there is none, for example because the asked replica is not the owner. */
export function decodeAskAnswer(bytes: Uint8Array): object | undefined {
  const parsed = answerSchema.safeParse(jsonOfBytes(bytes));
  return parsed.success ? parsed.data.answer : undefined;
}

/** Creates the handler of forwarded questions; it returns undefined for one that it does not understand. */
export function createAskJudge(term: () => OwnTerm, here: AnswerAsk) {
  return async (bytes: Uint8Array, signal: AbortSignal): Promise<object | undefined> => {
    const asked = askSchema.safeParse(jsonOfBytes(bytes));
    if (!asked.success) return undefined;
    const { transitions, ask } = asked.data;
    const refusal = termRefusal(term(), transitions);
    if (refusal !== undefined) return refusal;
    const answer = await here(ask, signal);
    // An owner that was paused meanwhile may know less than the next one.
    const late = termRefusal(term(), transitions);
    return late ?? (answer === undefined ? NOT_OWNER : { answer });
  };
}
