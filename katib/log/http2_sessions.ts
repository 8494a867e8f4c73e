/**
 * Workaround for HTTP/2 sessions that a GOAWAY ends (denoland/deno#36788). Deno 2.9.6 frees a session at once
 * when JavaScript calls `destroy()`, even while nghttp2 still processes the frame that led to the call: a
 * GOAWAY on a session without streams, which every peer sends when it shuts down. That ends the process. Here
 * sessions are destroyed one turn of the event loop later.
 */
import http2 from "node:http2";
import { type Clock, systemClock } from "../../platform/base/clock.ts";

type Method = (this: object, ...args: unknown[]) => unknown;

const isMethod = (value: unknown): value is Method => typeof value === "function";

/** Returns the prototype of client and server sessions, or undefined if the runtime does not expose it. */
function sessionPrototype(): object | undefined {
  const Session: unknown = Reflect.get(http2, "Http2Session");
  const prototype: unknown = typeof Session === "function"
    ? Reflect.get(Session, "prototype")
    : undefined;
  return typeof prototype === "object" && prototype !== null ? prototype : undefined;
}

const delayed = new WeakSet<object>();

/**
 * Delays `destroy()` of the prototype's sessions, once for each session. Returns false if there is no such
 * method. Idempotent.
 */
function destroyLater(prototype: object, clock: Clock): boolean {
  const destroy: unknown = Reflect.get(prototype, "destroy");
  if (!isMethod(destroy) || delayed.has(prototype)) return isMethod(destroy);
  delayed.add(prototype);
  const ending = new WeakSet<object>();
  function destroySoon(this: object, ...args: unknown[]): void {
    if (ending.has(this) || !isMethod(destroy)) return;
    ending.add(this);
    clock.sleep(0).then(() => destroy.apply(this, args));
  }
  return Reflect.set(prototype, "destroy", destroySoon);
}

/** Applies the workaround to all sessions of this process. To be called before the first one is created. */
export function guardSessions(): boolean {
  const prototype = sessionPrototype();
  return prototype !== undefined && destroyLater(prototype, systemClock);
}
