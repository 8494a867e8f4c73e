/** Type of a hostile request, and the checks that every answer must pass. */
import assert from "node:assert/strict";
import { z } from "zod";
import type { PushRateLimits } from "../../../status/chain/push_handler.ts";
import { type BenchOptions, handlerBench, type Sent, TOKEN } from "../chain/handler_bench.ts";

/** A request, and the one right answer to it. */
export interface HostileCase {
  readonly sent: Sent;
  readonly code: number;
  /** Of the Status; `accepted` for a push that is taken, hostile as it looks. */
  readonly reason: string;
  /** Whether objects may be looked up for it. Default: it is refused before. */
  readonly looksUp?: boolean;
}

/** A table of cases by sentence. */
export type HostileCases = Readonly<Record<string, HostileCase>>;

/** Makes cases that have the answer in common. */
export function allWith(
  answer: Omit<HostileCase, "sent">,
  sent: Readonly<Record<string, Sent>>,
): HostileCases {
  return Object.fromEntries(
    Object.entries(sent).map(([sentence, one]) => [sentence, { ...answer, sent: one }]),
  );
}

const ENDLESS = { ratePerSecond: 1e9, burst: 1e9 };
/** No limit is in the way: what is tested is the rest. */
export const NO_LIMITS: Partial<PushRateLimits> = {
  failuresPerPeer: ENDLESS,
  pushesPerPod: ENDLESS,
  pushesPerSubject: ENDLESS,
};

/** A handler for hostile requests. */
export const hostileBench = (options: BenchOptions = {}) =>
  handlerBench({ limits: NO_LIMITS, ...options });

const statusSchema = z.strictObject({
  kind: z.literal("Status"),
  apiVersion: z.literal("v1"),
  metadata: z.strictObject({}),
  status: z.literal("Failure"),
  reason: z.string().min(1),
  code: z.int(),
  message: z.string().min(1),
  details: z.strictObject({
    causes: z.array(z.strictObject({ field: z.string(), message: z.string().min(1) })).min(1),
  }).optional(),
});

/** Throws where a body is not the Status that belongs to its code. */
export function assertStatus(body: unknown, code: number, reason: string): void {
  const status = statusSchema.parse(body);
  assert.deepEqual([status.code, status.reason], [code, reason]);
  assert.equal(status.details !== undefined, reason === "Invalid");
}

const HEADER_OF: Readonly<Record<number, string>> = {
  401: "WWW-Authenticate",
  405: "Allow",
  429: "Retry-After",
  503: "Retry-After",
};

/** Sends the case twice, then an honest push, and says what they set off. */
export async function check({ sent, code, reason, looksUp = false }: HostileCase): Promise<void> {
  const { send, counts, accepted, reviews } = hostileBench();
  for (let time = 1; time <= 2; time++) {
    const { status, headers, body } = await send(sent);
    assert.deepEqual([status, body.reason ?? "accepted"], [code, reason]);
    if (code !== 200) assertStatus(body, code, reason);
    const header = HEADER_OF[code];
    if (header !== undefined) assert.notEqual(headers[header], undefined);
    const text = JSON.stringify([headers, body]);
    for (const secret of [TOKEN, sent.token ?? ""]) {
      assert(secret.length < 20 || !text.includes(secret));
    }
    assert.equal(counts.lookups.lookups > 0, looksUp);
  }
  if (code === 200) return;
  assert.deepEqual([accepted.length, counts.reviews], [0, 0]);
  assert.equal((await send()).status, 200);
  assert.equal(accepted.length, 1);
  await reviews.close();
}

/** Declares a test for each case. */
export function testAll(symbol: string, cases: HostileCases): void {
  for (const [sentence, one] of Object.entries(cases)) {
    Deno.test(`\`${symbol}\` answers ${one.code} ${one.reason} to ${sentence}`, () => check(one));
  }
}
