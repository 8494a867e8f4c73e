/** HTTPS calls to other replicas, with certificates on both sides, bounded in time and number. */
import type { IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import { getLogger } from "@logtape/logtape";
import { onAbort } from "../../base/aborted.ts";
import type { Clock } from "../../base/clock.ts";
import { withDeadline } from "../../base/deadline.ts";
import { messageOf } from "../../kube/errors.ts";
import { readBounded } from "../request_body.ts";
import type { TlsIdentity } from "../tls.ts";

/** The credentials of a replica; its `ca` has every CA that may have signed the other's certificate. */
export type ReplicaTls = Required<TlsIdentity>;

/** Bounds of a call. */
export interface CallBounds {
  readonly deadlineMs: number;
  /** Aborts when the client no longer waits for the answer. */
  readonly signal: AbortSignal;
}

/** Options of {@link createReplicaCalls}. */
export interface ReplicaCallsOptions {
  readonly tls: ReplicaTls;
  /** A name that the other's serving certificate carries. */
  readonly serverName: string;
  readonly clock: Clock;
  /** Calls under way at a time. */
  readonly maxCalls: number;
  /** Connections. */
  readonly maxConnections: number;
  /** Time a connection is kept on which nothing comes, in milliseconds. */
  readonly idleMs: number;
}

/** A call: its target, its body, and the limit of its answer. */
export interface ReplicaCall {
  /** `<ip>:<port>`. */
  readonly address: string;
  readonly path: string;
  readonly body: Uint8Array;
  readonly maxBytes: number;
}

/** The bytes of an answer, or why there are none. */
export type CallOutcome =
  | { readonly bytes: Uint8Array }
  | {
    readonly bytes?: undefined;
    /** `unknown_call`: the other replica does not know the path, so it is of another version. */
    readonly outcome: "unknown_call" | "unreachable" | "timeout" | "saturated";
  };

/** Calls other replicas. */
export type ReplicaCalls = ReturnType<typeof createReplicaCalls>;

/** Splits `<ip>:<port>`; IPv6 addresses stand in brackets. Undefined if it is no address. */
export function parseAddress(address: string): { host: string; port: number } | undefined {
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(address) ?? [];
  const host = bracketed ?? plain;
  return host === undefined || Number(port) > 65_535 ? undefined : { host, port: Number(port) };
}

const NOBODY_WAITS = new Error("nobody waits for the answer any more");

/** Performs one HTTP exchange. Throws if no answer comes, or `signal` aborts. */
function exchange(
  agent: Agent,
  at: { host: string; port: number; servername: string },
  { path, body, maxBytes }: ReplicaCall,
  signal: AbortSignal,
): Promise<CallOutcome> {
  return new Promise((resolve, reject) => {
    const call = request({
      ...at,
      agent,
      method: "POST",
      path,
      headers: { "content-type": "application/json", "content-length": body.length },
    }, (message: IncomingMessage) => {
      readBounded(message, maxBytes).then((bytes) => {
        if (message.statusCode === 404) resolve({ outcome: "unknown_call" });
        else resolve(bytes === undefined ? { outcome: "unreachable" } : { bytes });
      }, reject);
    });
    const cut = () => {
      // The runtime makes a call again that broke off on a connection used before, also this way.
      call.reusedSocket = false;
      call.destroy(NOBODY_WAITS);
    };
    call.on("error", reject);
    call.end(body);
    call.on("close", onAbort(signal, cut));
  });
}

/** Creates {@link ReplicaCalls}; connections are made when they are needed. */
export function createReplicaCalls(options: ReplicaCallsOptions) {
  const { serverName: servername, clock, maxCalls, maxConnections, idleMs } = options;
  const log = getLogger(["milepost", "http"]);
  const agentOf = ({ cert, key, ca }: ReplicaTls) =>
    new Agent({
      cert,
      key,
      ca,
      minVersion: "TLSv1.3",
      keepAlive: true,
      maxSockets: maxConnections,
      timeout: idleMs,
    });
  let agent = agentOf(options.tls);
  const replaced = new Set<Agent>();
  const closed = new AbortController();
  let underWay = 0;

  async function callOnce(call: ReplicaCall, signal: AbortSignal): Promise<CallOutcome> {
    const at = parseAddress(call.address);
    if (at === undefined) return { outcome: "unreachable" };
    return await exchange(agent, { ...at, servername }, call, signal);
  }

  async function callInTime(call: ReplicaCall, bounds: CallBounds): Promise<CallOutcome> {
    const inTime = { ...bounds, clock, onDeadline: () => NOBODY_WAITS };
    try {
      return await withDeadline(inTime, (signal) => callOnce(call, signal));
    } catch (error) {
      const { address, path } = call;
      const isLate = error === NOBODY_WAITS || bounds.signal.aborted;
      const problem = messageOf(isLate ? NOBODY_WAITS : error);
      log.debug("another replica gave no answer", { address, path, problem });
      return { outcome: isLate ? "timeout" : "unreachable" };
    }
  }

  return {
    /** Never throws. */
    async call(call: ReplicaCall, bounds: CallBounds): Promise<CallOutcome> {
      if (underWay >= maxCalls) return { outcome: "saturated" };
      underWay += 1;
      try {
        return await callInTime(call, bounds);
      } finally {
        underWay -= 1;
      }
    },
    /** New calls use these. */
    updateTls(tls: ReplicaTls): void {
      const old = agent;
      agent = agentOf(tls);
      // Calls under way end on their connections.
      replaced.add(old);
      clock.sleep(idleMs, closed.signal).then(() => {
        old.destroy();
        replaced.delete(old);
      });
    },
    /** Closes the connections. */
    close(): void {
      agent.destroy();
      for (const old of replaced) old.destroy();
      closed.abort();
    },
  };
}
