/**
 * Workaround for HTTP/2 sessions that a GOAWAY ends (denoland/deno#36788). Deno 2.9.6 frees a session at once
 * when JavaScript calls `destroy()`, even while nghttp2 still processes the frame that led to the call: a
 * GOAWAY on a session without streams, which every peer sends when it shuts down. That ends the process. Here
 * sessions are destroyed one turn of the event loop later.
 */
import http2 from "node:http2";
import { systemClock } from "../../platform/base/clock.ts";

type Method = (this: object, ...args: unknown[]) => unknown;

const isMethod = (value: unknown): value is Method => typeof value === "function";

/** Prototypes whose sessions are destroyed later. */
const delayed = new WeakSet<object>();

/**
 * Applies the workaround to all client and server sessions of this process. To be called before the first one is
 * created; later calls change nothing, nor does one where the runtime does not expose the sessions.
 */
export function guardSessions(): void {
  const Session: unknown = Reflect.get(http2, "Http2Session");
  const prototype: unknown = typeof Session === "function" && Reflect.get(Session, "prototype");
  if (typeof prototype !== "object" || prototype === null || delayed.has(prototype)) return;
  const destroy: unknown = Reflect.get(prototype, "destroy");
  if (!isMethod(destroy)) return;
  delayed.add(prototype);
  const ending = new WeakSet<object>();
  Reflect.set(prototype, "destroy", function (this: object, ...args: unknown[]): void {
    if (ending.has(this)) return;
    ending.add(this);
    systemClock.sleep(0).then(() => destroy.apply(this, args));
  });
}
