/** Stages that read the body of a push or of a history, unpack it, and check what is in it. */
import { HISTORY_LIMITS } from "../../crds/names.ts";
import { createFairShare } from "../../platform/http/limits/fair_share.ts";
import type { KeyedBuckets } from "../../platform/base/token_bucket.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { bodyTooLarge, invalid, notNow, type Refusal } from "../../platform/http/refusals.ts";
import { comeAgain } from "../../platform/http/replicas/owner_router.ts";
import { refuse } from "./status_refusals.ts";
import { podUid, subject } from "./caller.ts";
import { type Packing, packingOf, unpack } from "./content_encoding.ts";
import type { Exchange, Outcome } from "./exchange.ts";
import { readHistory } from "../../crds/wire/history.ts";
import { readPush } from "../../crds/wire/push.ts";

const wrongEncoding = (message: string) =>
  invalid("push", [{ field: "Content-Encoding", message }]);
const UNKNOWN_ENCODING = wrongEncoding("must be gzip, or absent");
const BROKEN_GZIP = wrongEncoding("the body must be gzip, whole, and nothing after it");
const TOO_MANY_HISTORIES = notNow(comeAgain("too many histories arrive at once: try again soon"));

/** A body as it was sent. */
interface SentBody {
  readonly bytes: Uint8Array | undefined;
  readonly packing: Packing;
  readonly maxBytes: number;
}

/** Returns the bytes as they were before they were packed. */
function unpacked({ bytes, packing, maxBytes }: SentBody): Uint8Array | Refusal {
  if (bytes === undefined) return bodyTooLarge(maxBytes);
  const plain = packing === "gzip" ? unpack(bytes, maxBytes) : bytes;
  if (plain === "too_long") return bodyTooLarge(maxBytes);
  return plain === "broken" ? BROKEN_GZIP : plain;
}

/** Checks what is in a body. */
function understand(exchange: Exchange, plain: Uint8Array): Outcome {
  const read = exchange.chain === "history" ? readHistory(plain) : readPush(plain);
  if (!read.ok) return invalid("push", read.causes);
  exchange.body = read.push;
  return undefined;
}

/** Reads the body, and checks what is in it. */
function readWith(
  exchange: Exchange,
  check: (exchange: Exchange, sent: SentBody) => Outcome,
): Outcome | Promise<Outcome> {
  const { request, maxBodyBytes: maxBytes = 0 } = exchange;
  const packing = packingOf(request.header("content-encoding"));
  if (packing === "unknown") return UNKNOWN_ENCODING;
  return request.readBody(maxBytes).then((bytes) => check(exchange, { bytes, packing, maxBytes }));
}

/** Reads the body of a push. */
export function body(exchange: Exchange): Outcome | Promise<Outcome> {
  return readWith(exchange, (_, sent) => {
    const plain = unpacked(sent);
    return "why" in plain ? plain : understand(exchange, plain);
  });
}

/** Rates of the samples in histories. */
export interface SampleRates {
  readonly pods: KeyedBuckets;
  readonly subjects: KeyedBuckets;
  /** Of all together, under one key. */
  readonly all: KeyedBuckets;
}

const ALL = "all";

/** Returns the samples that a body counts as: those that it holds, or as many as its bytes could. */
function samplesIn({ body }: Exchange, bytes: number): number {
  const held = body?.trainerStatus === undefined ? 0 : 1 + (body.earlier?.length ?? 0);
  return Math.max(held, Math.ceil(bytes / HISTORY_LIMITS.bytesPerSample));
}

/**
 * Creates the stages of histories. How much a body costs is known only after it was unpacked: its samples are
 * charged then, also below zero, and the next one waits. A place is taken once the body is there, so that
 * nobody can hold one by sending slowly; no subject can take all of them.
 */
export function createHistoryStages(rates: SampleRates, clock: Clock) {
  const places = createFairShare(HISTORY_LIMITS.atOnce);

  function samples(exchange: Exchange): Outcome {
    const nowMs = clock.monotonic();
    const ofPod = rates.pods.waitMs(podUid(exchange), nowMs);
    const retryAfterMs = Math.max(ofPod, rates.subjects.waitMs(subject(exchange), nowMs));
    if (retryAfterMs > 0) return refuse("sample_limit", { retryAfterMs });
    return rates.all.waitMs(ALL, nowMs) > 0 ? TOO_MANY_HISTORIES : undefined;
  }

  function charge(exchange: Exchange, amount: number): void {
    const nowMs = clock.monotonic();
    rates.pods.charge(podUid(exchange), nowMs, amount);
    rates.subjects.charge(subject(exchange), nowMs, amount);
    rates.all.charge(ALL, nowMs, amount);
  }

  function check(exchange: Exchange, sent: SentBody): Outcome {
    // Others of this caller may have arrived meanwhile.
    const refused = samples(exchange);
    if (refused !== undefined) return refused;
    const caller = subject(exchange);
    if (!places.take(caller, 1)) return TOO_MANY_HISTORIES;
    exchange.release = () => places.give(caller, 1);
    const plain = unpacked(sent);
    const outcome = "why" in plain ? plain : understand(exchange, plain);
    charge(exchange, samplesIn(exchange, "why" in plain ? sent.maxBytes : plain.length));
    return outcome;
  }

  return {
    /** Refuses callers that owe samples, before the body is read. */
    samples,
    /** Reads the body. */
    body: (exchange: Exchange) => readWith(exchange, check),
  };
}
