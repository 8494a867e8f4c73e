/** Attempts to report for somebody else's job, each made and compared with how it should end. */
import assert from "node:assert/strict";
import { MANAGER } from "../../../crds/names.ts";
import { KubeError } from "../../../platform/kube/errors.ts";
import { until } from "../../support/until.ts";

/** How an attempt ends. */
export interface AttemptEnds {
  /** With the policy: refused at admission, or the code of the push. */
  readonly withPolicy: "admission" | 403;
  /** Without it: the code of the push. */
  readonly without: 200 | 403;
}

/** What an attempt has got. */
export interface Loot {
  /** Pushes with the stolen token. Returns the code. */
  readonly push: () => Promise<number>;
  readonly cleanUp?: () => Promise<void>;
}

/** One attempt. */
export interface AttemptToPush extends AttemptEnds {
  /** Steals a token. */
  readonly steal: () => Promise<Loot>;
}

/** What an attempt that should succeed gets: some lose a race against a controller on a busy machine. */
const TRIES = 3;
/** How long pushes are made, in milliseconds: what has to happen in between takes controllers a moment. */
const PUSHED_FOR_MS = { 200: 20_000, 403: 3_000 } as const;
/** Attempts at a time. */
const AT_ONCE = 4;

async function codeOf({ steal, without }: AttemptToPush): Promise<number> {
  const { push, cleanUp } = await steal();
  try {
    const codes = [await until("the CA of the job", push)];
    const end = performance.now() + PUSHED_FOR_MS[without];
    while (performance.now() < end && !codes.includes(200)) {
      codes.push(await push());
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    return codes.at(-1) ?? 0;
  } finally {
    await cleanUp?.();
  }
}

/** Returns how an attempt ends: refused by the policy, or with the code of its push. */
async function endOf(attempt: AttemptToPush): Promise<"admission" | number> {
  const tries = attempt.without === 200 ? TRIES : 1;
  try {
    let code = 0;
    for (let tried = 0; tried < tries && code !== 200; tried += 1) code = await codeOf(attempt);
    return code;
  } catch (error) {
    if (error instanceof KubeError && error.message.includes(MANAGER.admissionPolicy)) {
      assert.equal(error.code, 403);
      return "admission";
    }
    throw error;
  }
}

/** Makes every attempt, a few at a time; then there is a step for each, so that each failure has its name. */
export async function compareAttempts(
  t: Deno.TestContext,
  attempts: Readonly<Record<string, AttemptToPush>>,
  wanted: keyof AttemptEnds,
): Promise<void> {
  const ends = new Map<string, "admission" | number | Error>();
  const left = Object.entries(attempts);
  const worker = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const [sentence, attempt] = next;
      ends.set(sentence, await endOf(attempt).catch((cause) => new Error(sentence, { cause })));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  for (const [sentence, attempt] of Object.entries(attempts)) {
    await t.step(`${sentence}: ${attempt[wanted]}`, () => {
      const end = ends.get(sentence);
      if (end instanceof Error) throw end;
      assert.equal(end, attempt[wanted]);
    });
  }
}
