/** Forwards pushes to the owner: HTTPS with certificates on both sides, bounded in time and number. */
import type { IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import { getLogger } from "@logtape/logtape";
import type { Clock } from "../kube/clock.ts";
import { messageOf } from "../kube/errors.ts";
import type { Push } from "./exchange.ts";
import {
  ANSWER_MAX_BYTES,
  decodeForwardAnswer,
  encodeForwardedPush,
  FORWARD_PATH,
  type ForwardResult,
  type ForwardTarget,
  parseAddress,
  resultOfAnswer,
} from "./forwarding.ts";
import { readBounded } from "./request_body.ts";

/** By what replicas know each other; all PEM. */
export interface ReplicaTls {
  readonly cert: string;
  readonly key: string;
  /** Every CA that may have signed the other's certificate. */
  readonly ca: string;
}

/** Options of {@link createForwardClient}. */
export interface ForwardClientOptions {
  readonly tls: ReplicaTls;
  /** A name that the owner's serving certificate carries. */
  readonly serverName: string;
  readonly clock: Clock;
  /** Calls under way at a time. Default 1000. */
  readonly maxCalls?: number;
  /** Connections. Default 32. */
  readonly maxConnections?: number;
  /** `forwarded_pushes_total{result}`. */
  readonly onForward?: (outcome: ForwardResult["outcome"]) => void;
}

/** Calls the owner. */
export interface ForwardClient {
  /** Hands over one push. Never throws. */
  forward(
    target: ForwardTarget,
    push: Push,
    bounds: { readonly deadlineMs: number; readonly signal: AbortSignal },
  ): Promise<ForwardResult>;
  /** New calls use these. */
  updateTls(tls: ReplicaTls): void;
  /** Closes the connections. */
  close(): void;
}

/** Time a connection is kept without a call, in milliseconds: shorter than the listener's. */
const IDLE_MS = 15_000;

/** One HTTP exchange. Throws where no answer comes, or `signal` aborts. */
function exchange(
  agent: Agent,
  at: { host: string; port: number; servername: string },
  body: Uint8Array,
  signal: AbortSignal,
): Promise<Uint8Array | undefined> {
  return new Promise((resolve, reject) => {
    const call = request({
      ...at,
      agent,
      method: "POST",
      path: FORWARD_PATH,
      headers: { "content-type": "application/json", "content-length": body.length },
    }, (message: IncomingMessage) => {
      readBounded(message, ANSWER_MAX_BYTES).then(resolve, reject);
    });
    const cut = () => call.destroy(new Error("nobody waits for the answer any more"));
    signal.addEventListener("abort", cut, { once: true });
    call.on("close", () => signal.removeEventListener("abort", cut));
    call.on("error", reject);
    call.end(body);
    if (signal.aborted) cut();
  });
}

/** Creates a {@link ForwardClient}. */
export function createForwardClient(options: ForwardClientOptions): ForwardClient {
  const { serverName: servername, clock, maxCalls = 1000, maxConnections = 32 } = options;
  const log = getLogger(["milepost", "status"]);
  const agentOf = ({ cert, key, ca }: ReplicaTls) =>
    new Agent({
      cert,
      key,
      ca,
      minVersion: "TLSv1.3",
      keepAlive: true,
      maxSockets: maxConnections,
      timeout: IDLE_MS,
    });
  let agent = agentOf(options.tls);
  const replaced = new Set<Agent>();
  const closed = new AbortController();
  let underWay = 0;

  async function call(
    { address, transitions }: ForwardTarget,
    push: Push,
    signal: AbortSignal,
  ): Promise<ForwardResult> {
    const at = parseAddress(address);
    if (at === undefined) return { outcome: "unreachable" };
    const body = encodeForwardedPush({ transitions, push });
    const answer = await exchange(agent, { ...at, servername }, body, signal);
    return resultOfAnswer(answer && decodeForwardAnswer(answer));
  }

  async function callInTime(
    target: ForwardTarget,
    push: Push,
    { deadlineMs, signal }: { readonly deadlineMs: number; readonly signal: AbortSignal },
  ): Promise<ForwardResult> {
    const over = new AbortController();
    const done = new AbortController();
    const giveUp = () => over.abort();
    signal.addEventListener("abort", giveUp, { once: true });
    if (signal.aborted) giveUp();
    const timer = clock.sleep(deadlineMs, done.signal).then(() => {
      if (!done.signal.aborted) over.abort();
    });
    try {
      return await call(target, push, over.signal);
    } catch (error) {
      const { address } = target;
      log.debug("a push could not be forwarded", { address, problem: messageOf(error) });
      return { outcome: over.signal.aborted ? "timeout" : "unreachable" };
    } finally {
      done.abort();
      signal.removeEventListener("abort", giveUp);
      await timer;
    }
  }

  async function forward(...parts: Parameters<ForwardClient["forward"]>): Promise<ForwardResult> {
    if (underWay >= maxCalls) return { outcome: "saturated" };
    underWay += 1;
    try {
      return await callInTime(...parts);
    } finally {
      underWay -= 1;
    }
  }

  return {
    async forward(...parts) {
      const result = await forward(...parts);
      options.onForward?.(result.outcome);
      return result;
    },
    updateTls(tls) {
      const old = agent;
      agent = agentOf(tls);
      // Calls under way end on their connections.
      replaced.add(old);
      clock.sleep(IDLE_MS, closed.signal).then(() => {
        old.destroy();
        replaced.delete(old);
      });
    },
    close() {
      agent.destroy();
      for (const old of replaced) old.destroy();
      closed.abort();
    },
  };
}
