/** What is pushed, and the hand-over to the owner of the job's state. */
import { PUSH_LIMITS } from "../crds/names.ts";
import { okResponse } from "./answer.ts";
import {
  type Acceptance,
  type Exchange,
  found,
  type Outcome,
  type Push,
  type Stage,
} from "./exchange.ts";
import { readPush } from "./push.ts";
import type { StageParts } from "./stages.ts";

/** Time after which a client may come again while the owner is slow. */
const SOON_MS = 1000;

/** Reads and checks the body. */
export async function body(exchange: Exchange): Promise<Outcome> {
  const bytes = await exchange.request.readBody(PUSH_LIMITS.bodyBytes);
  if (bytes === undefined) return { why: "body_too_large" };
  const read = readPush(bytes);
  if (!read.ok) return { why: "invalid", causes: read.causes };
  exchange.body = read.push;
  return undefined;
}

async function withinDeadline(parts: StageParts, push: Push): Promise<Acceptance> {
  const { accept, acceptDeadlineMs, clock } = parts;
  const over = new AbortController();
  const late = clock.sleep(acceptDeadlineMs, over.signal).then((): Acceptance => ({
    retryAfterMs: SOON_MS,
    reason: "the owner of this job's status did not answer in time: try again soon",
  }));
  try {
    return await Promise.race([accept(push, over.signal), late]);
  } finally {
    over.abort();
  }
}

/** Hands the push to its owner, and makes the answer of what that says. */
export function hand(parts: StageParts): Stage["run"] {
  return async (exchange) => {
    const pushed = found(exchange.body, "body");
    const { trainerStatus, sequence } = pushed;
    if (trainerStatus === undefined) {
      exchange.response = okResponse(pushed);
      return undefined;
    }
    const acceptance = await withinDeadline(parts, {
      job: { ...found(exchange.job, "job"), uid: found(exchange.jobUid, "job's UID") },
      pod: found(exchange.pod, "pod"),
      trainerStatus,
      sequence,
      receivedMs: exchange.nowMs,
    });
    if (!acceptance.ok) {
      const { reason, retryAfterMs } = acceptance;
      return { why: "unavailable", reason, retryAfterMs };
    }
    const { warnings, control } = acceptance;
    const heard = warnings !== undefined && warnings.length > 0 ? { warnings } : {};
    exchange.response = okResponse({ ...pushed, ...heard, ...(control && { control }) });
    return undefined;
  };
}
