/** Listener for calls of other replicas, which need a certificate of our CA. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import { TLSSocket } from "node:tls";
import { getLogger } from "@logtape/logtape";
import type { JobKinds } from "../../crds/job_kinds.ts";
import type { MessageVersion } from "../../crds/job_message.ts";
import type { Clock } from "../../kube/clock.ts";
import { messageOf } from "../../kube/errors.ts";
import type { AcceptPush } from "../chain/exchange.ts";
import {
  type AnswerAsk,
  ASK_MAX_BYTES,
  askPath,
  changesPath,
  createAskJudge,
} from "./forward_asks.ts";
import type { ReplicaTls } from "./forward_calls.ts";
import { createReadDecoder, READ_MAX_BYTES, readingsThatFit, readPath } from "./forward_reading.ts";
import {
  createPushDecoder,
  FORWARD_MAX_BYTES,
  type ForwardAnswer,
  type ForwardedPush,
  forwardPath,
  splitPushes,
} from "./forwarding.ts";
import { NOT_OWNER, type OwnTerm, termRefusal } from "./own_term.ts";
import type { Reading } from "../reading/reading.ts";
import { closeWithin, listen } from "../../http/listening.ts";
import { discardRest, readBounded } from "../../http/request_body.ts";
import type { PollOwner } from "../reading/status_feeds.ts";

export { type OwnTerm, termRefusal } from "./own_term.ts";

/** Answers about observations. */
export interface ForwardedObservations {
  readonly answerHere: AnswerAsk;
  /** Returns which of them changed. */
  readonly pollHere: PollOwner;
}

/** Options of {@link startForwardListener}. */
export interface ForwardListenerOptions {
  readonly kinds: JobKinds;
  /** 0 stands for a free one. */
  readonly port: number;
  /** Address to listen on. Default: all. */
  readonly hostname?: string;
  /** Its serving certificate, and the CAs of clients. */
  readonly tls: ReplicaTls;
  /** The DNS name that the certificate of a replica carries. */
  readonly clientName: string;
  readonly term: () => OwnTerm;
  readonly acceptHere: AcceptPush;
  /** Reads this replica's own state. */
  readonly pollHere: PollOwner;
  /** Absent: nobody asks for observations here. */
  readonly observations?: ForwardedObservations | undefined;
  readonly clock: Clock;
  /** How long `acceptHere` may take. Default 2 s. */
  readonly acceptDeadlineMs?: number;
}

/** A listener that runs. */
export interface ForwardListener {
  readonly port: number;
  updateTls(tls: ReplicaTls): void;
  /** Takes no new connections, and answers what it has in hand for at most `drainMs`. */
  close(drainMs: number): Promise<void>;
}

const CONNECTIONS = 256;
const TIMES_MS = { headers: 5000, request: 10_000, idle: 30_000, check: 1000 } as const;
const LATE: ForwardAnswer = { retryAfterMs: 1000, reason: "the owner is slow: try again soon" };

/** Whether the certificate carries the name, among others or alone. */
function carries(altNames: string | undefined, name: string): boolean {
  return altNames?.split(", ").includes(`DNS:${name}`) ?? false;
}

function send(response: ServerResponse, status: number, answer: unknown): void {
  if (response.destroyed || response.writableEnded) return;
  const body = new TextEncoder().encode(JSON.stringify(answer));
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": String(body.length),
  });
  response.end(body);
}

/** What a call is answered with; undefined where it was not understood. */
type Judge = (bytes: Uint8Array, signal: AbortSignal) => Promise<object | undefined>;

const NOT_UNDERSTOOD: ForwardAnswer = {
  retryAfterMs: 1000,
  reason: "the owner does not understand the push: try again soon",
};

/** Judges the forwarded pushes of a call, each for itself. */
function createPushJudge(
  { kinds, term, acceptHere, clock, acceptDeadlineMs = 2000 }: ForwardListenerOptions,
): Judge {
  const decode = createPushDecoder(kinds);
  async function inTime(acceptance: Promise<ForwardAnswer>, over: AbortController) {
    const late = clock.sleep(acceptDeadlineMs, over.signal).then(() => LATE);
    try {
      return await Promise.race([acceptance, late]);
    } finally {
      over.abort("answered");
    }
  }

  function judge(forwarded: ForwardedPush | undefined): ForwardAnswer | Promise<ForwardAnswer> {
    if (forwarded === undefined) return NOT_UNDERSTOOD;
    const refusal = termRefusal(term(), forwarded.transitions);
    if (refusal !== undefined) return refusal;
    const over = new AbortController();
    const acceptance = acceptHere(forwarded.push, over.signal);
    return acceptance instanceof Promise ? inTime(acceptance, over) : acceptance;
  }

  return async (bytes): Promise<{ answers: readonly ForwardAnswer[] } | undefined> => {
    const pushes = splitPushes(bytes)?.map(decode) ?? [];
    if (pushes.every((push) => push === undefined)) return undefined;
    const answers = await Promise.all(pushes.map(judge));
    // An owner that was paused meanwhile neither accepts nor answers.
    return {
      answers: answers.map((answer, index) => {
        const transitions = pushes[index]?.transitions;
        return (transitions === undefined ? undefined : termRefusal(term(), transitions)) ?? answer;
      }),
    };
  };
}

/** Answers one forwarded read, as soon as there is something new. */
function createReadJudge(
  { kinds, term, pollHere }: Pick<ForwardListenerOptions, "kinds" | "term" | "pollHere">,
): Judge {
  const decode = createReadDecoder(kinds);
  return async (
    bytes,
    signal,
  ): Promise<ForwardAnswer | { readings: readonly Reading[] } | undefined> => {
    const ask = decode(bytes);
    if (ask === undefined) return undefined;
    const refusal = termRefusal(term(), ask.transitions);
    if (refusal !== undefined) return refusal;
    const readings = await pollHere(ask.entries, ask.waitMs, signal);
    // An owner that was paused meanwhile may know less than the next one.
    const late = termRefusal(term(), ask.transitions);
    return late ?? (readings === undefined ? NOT_OWNER : readingsThatFit(readings));
  };
}

/** A call that is answered: its path in a version of the messages, and how it is judged. */
interface Call {
  readonly path: (version: MessageVersion) => string;
  readonly judge: Judge;
  readonly maxBytes: number;
}

/** Returns the calls that are answered. */
function callsOf(options: ForwardListenerOptions): Call[] {
  const { kinds, term, observations } = options;
  const calls: Call[] = [
    { path: forwardPath, judge: createPushJudge(options), maxBytes: FORWARD_MAX_BYTES },
    { path: readPath, judge: createReadJudge(options), maxBytes: READ_MAX_BYTES },
  ];
  if (observations === undefined) return calls;
  const { answerHere, pollHere } = observations;
  return [
    ...calls,
    { path: askPath, judge: createAskJudge(term, answerHere), maxBytes: ASK_MAX_BYTES },
    {
      path: changesPath,
      judge: createReadJudge({ kinds, term, pollHere }),
      maxBytes: READ_MAX_BYTES,
    },
  ];
}

/** The versions of messages; each is read in the same way, and only the second one names kinds. */
const VERSIONS: readonly MessageVersion[] = ["v1", "v2"];

/** Starts it. Throws where the port cannot be had. */
export async function startForwardListener(
  options: ForwardListenerOptions,
): Promise<ForwardListener> {
  const { clock, clientName, tls } = options;
  const log = getLogger(["milepost", "status"]);
  const calls: Readonly<Record<string, Call>> = Object.fromEntries(
    callsOf(options).flatMap((call) => VERSIONS.map((version) => [call.path(version), call])),
  );
  const closing = new AbortController();

  /** Aborts when the other replica waits no longer, or this one shuts down. */
  function goneSignal(response: ServerResponse): AbortSignal {
    const gone = new AbortController();
    const go = () => gone.abort();
    closing.signal.addEventListener("abort", go, { once: true });
    response.once("close", () => {
      closing.signal.removeEventListener("abort", go);
      go();
    });
    if (closing.signal.aborted) go();
    return gone.signal;
  }

  async function serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    message.on("error", () => {});
    const call = message.method === "POST" ? calls[message.url ?? ""] : undefined;
    if (call === undefined) {
      send(response, 404, { reason: `POST ${Object.keys(calls).join(" or ")}` });
      return await discardRest(message, clock);
    }
    if (closing.signal.aborted) response.setHeader("connection", "close");
    const signal = goneSignal(response);
    const bytes = await readBounded(message, call.maxBytes);
    const answer = bytes && await call.judge(bytes, signal);
    if (answer === undefined) send(response, 400, { reason: "this is no forwarded call" });
    else send(response, 200, answer);
    await discardRest(message, clock);
  }

  const server = createServer({
    ...tls,
    requestCert: true,
    rejectUnauthorized: true,
    minVersion: "TLSv1.3",
    handshakeTimeout: TIMES_MS.headers,
    headersTimeout: TIMES_MS.headers,
    requestTimeout: TIMES_MS.request,
    keepAliveTimeout: TIMES_MS.idle,
    connectionsCheckingInterval: TIMES_MS.check,
  });
  server.maxConnections = CONNECTIONS;
  server.on("secureConnection", (socket: TLSSocket) => {
    if (socket.authorized && carries(socket.getPeerCertificate().subjectaltname, clientName)) {
      return;
    }
    log.warn("somebody without a replica's certificate wanted to forward", {
      peer: socket.remoteAddress,
    });
    socket.destroy();
  });
  server.on("request", (message, response) => {
    serve(message, response).catch((error: unknown) => {
      log.debug("a forwarded push could not be answered", { problem: messageOf(error) });
      response.destroy();
    });
  });
  server.on("clientError", (_error, socket) => socket.destroy());
  server.on("tlsClientError", (error) => {
    log.debug("a replica's handshake failed", { problem: messageOf(error) });
  });
  const port = await listen(server, { ...options, portSetting: "--forward-port" });
  return {
    port,
    updateTls: ({ cert, key, ca }) => server.setSecureContext({ cert, key, ca }),
    async close(drainMs) {
      closing.abort();
      await closeWithin(server, { clock, drainMs, cutRest: () => {} });
    },
  };
}
