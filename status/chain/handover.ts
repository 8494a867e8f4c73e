/** Stages that read the body of a push, and hand the push over to the owner of the job's state. */
import { HISTORY_LIMITS } from "../../crds/names.ts";
import { okResponse, type Refusal } from "./answer.ts";
import { type Packing, packingOf, unpack } from "./content_encoding.ts";
import type { Clock } from "../../kube/clock.ts";
import {
  type AcceptPush,
  type Exchange,
  type Outcome,
  type OwnerAnswer,
  type Push,
  required,
  type StageRun,
} from "./exchange.ts";
import { readHistory } from "./history.ts";
import { plausible } from "./plausible_time.ts";
import { readPush } from "./push.ts";

/** Time after which a client may try again while the owner is slow, or while others send histories. */
const SOON_MS = 1000;

const wrongEncoding = (message: string): Refusal => ({
  why: "invalid",
  causes: [{ field: "Content-Encoding", message }],
});
const UNKNOWN_ENCODING = wrongEncoding("must be gzip, or absent");
const BROKEN_GZIP = wrongEncoding("the body must be gzip, whole, and nothing after it");

/** Unpacks a body, and checks what is in it. */
function understand(
  exchange: Exchange,
  bytes: Uint8Array | undefined,
  { packing, maxBytes }: { readonly packing: Packing; readonly maxBytes: number },
): Outcome {
  if (bytes === undefined) return { why: "body_too_large", maxBytes };
  const plain = packing === "gzip" ? unpack(bytes, maxBytes) : bytes;
  if (plain === "too_long") return { why: "body_too_large", maxBytes };
  if (plain === "broken") return BROKEN_GZIP;
  const read = exchange.chain === "history" ? readHistory(plain) : readPush(plain);
  if (!read.ok) return { why: "invalid", causes: read.causes };
  exchange.body = read.push;
  return undefined;
}

/** Reads the body, and checks what is in it. */
export function body(exchange: Exchange): Outcome | Promise<Outcome> {
  const { request, maxBodyBytes: maxBytes = 0 } = exchange;
  const packing = packingOf(request.header("content-encoding"));
  if (packing === "unknown") return UNKNOWN_ENCODING;
  return request.readBody(maxBytes)
    .then((bytes) => understand(exchange, bytes, { packing, maxBytes }));
}

/** Creates the stage that reads the body of a history; the number of histories at a time is limited. */
export function historyBody(): StageRun {
  let inHand = 0;
  return (exchange) => {
    if (inHand >= HISTORY_LIMITS.atOnce) {
      const reason = "too many histories arrive at once: try again soon";
      return { why: "unavailable", reason, retryAfterMs: SOON_MS };
    }
    inHand += 1;
    exchange.release = () => void inHand--;
    return body(exchange);
  };
}

/** How long the owner may take to answer. */
export interface AcceptDeadline {
  readonly clock: Clock;
  readonly acceptDeadlineMs: number;
}

/** Reason of the abort, which is never read: an error for each push would cost more than the push. */
const ANSWERED = "answered";

async function inTime(
  { acceptDeadlineMs, clock }: AcceptDeadline,
  acceptance: Promise<OwnerAnswer>,
  over: AbortController,
): Promise<OwnerAnswer> {
  const late = clock.sleep(acceptDeadlineMs, over.signal).then((): OwnerAnswer => ({
    retryAfterMs: SOON_MS,
    reason: "the owner of this job's status did not answer in time: try again soon",
  }));
  try {
    return await Promise.race([acceptance, late]);
  } finally {
    over.abort(ANSWERED);
  }
}

/** Returns the push to hand over: the newest sample with a plausible time, and what came before it. */
function pushOf(exchange: Exchange): { push?: Push; warnings: readonly string[] } {
  const { trainerStatus, earlier, sequence } = required(exchange.body, "body");
  if (trainerStatus === undefined) return { warnings: [] };
  const { nowMs, podStartMs } = exchange;
  const { samples, sentTimes, warnings } = plausible(
    earlier === undefined ? [trainerStatus] : [...earlier, trainerStatus],
    { nowMs, startMs: podStartMs },
  );
  const { kind, namespace, name } = required(exchange.job, "job");
  const push: Push = {
    job: { kind, namespace, name, uid: required(exchange.jobUid, "job's UID") },
    pod: required(exchange.pod, "pod"),
    trainerStatus: samples.at(-1) ?? trainerStatus,
    ...(earlier && { earlier: samples.slice(0, -1) }),
    ...(sentTimes && { sentTimes }),
    sequence,
    receivedMs: nowMs,
  };
  return { push, warnings };
}

/** Returns what the 200 repeats: the push, or the newest sample of a history and the number of samples. */
function echo({ chain, body }: Exchange): Record<string, unknown> {
  const { earlier, ...pushed } = required(body, "body");
  if (chain !== "history") return pushed;
  return { ...pushed, count: earlier === undefined ? 0 : earlier.length + 1 };
}

/** Makes the response from the owner's answer. */
function answer(exchange: Exchange, acceptance: OwnerAnswer, warnings: readonly string[]): Outcome {
  if (!acceptance.ok) {
    const { reason, retryAfterMs, gone } = acceptance;
    if (gone) return { why: "unknown_job" };
    return { why: "unavailable", reason, retryAfterMs };
  }
  const all = [...warnings, ...acceptance.warnings ?? []];
  const { control } = acceptance;
  exchange.response = okResponse({
    ...echo(exchange),
    ...(all.length > 0 && { warnings: all }),
    ...(control && { control }),
  });
  return undefined;
}

/** Creates the stage that hands the push over to its owner, and makes the response from the owner's answer. */
export function createHandOver(accept: AcceptPush, deadline: AcceptDeadline): StageRun {
  /** An answer that comes at once needs no timer. */
  function acceptanceOf(push: Push): OwnerAnswer | Promise<OwnerAnswer> {
    const over = new AbortController();
    const acceptance = accept(push, over.signal);
    return acceptance instanceof Promise ? inTime(deadline, acceptance, over) : acceptance;
  }
  return (exchange) => {
    const { push, warnings } = pushOf(exchange);
    if (push === undefined) {
      exchange.response = okResponse(echo(exchange));
      return undefined;
    }
    const acceptance = acceptanceOf(push);
    return acceptance instanceof Promise
      ? acceptance.then((settled) => answer(exchange, settled, warnings))
      : answer(exchange, acceptance, warnings);
  };
}
