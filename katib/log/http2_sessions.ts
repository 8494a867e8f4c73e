/**
 * Keeps a peer's GOAWAY from ending this process. Deno 2.9.6 frees an HTTP/2 session at once where its
 * JavaScript side calls `destroy()`, also while nghttp2 is still at work on the frame that led to it: a
 * GOAWAY on a session without streams, which every peer sends that shuts down (denoland/deno#36788).
 * Here sessions are destroyed a turn of the event loop later, when nobody is inside them.
 */
import http2 from "node:http2";
import { type Clock, systemClock } from "../../kube/clock.ts";

type Method = (this: object, ...args: unknown[]) => unknown;

const isMethod = (value: unknown): value is Method => typeof value === "function";

/** The prototype that client and server sessions share; undefined where the runtime names none. */
function sessionPrototype(): object | undefined {
  const Session: unknown = Reflect.get(http2, "Http2Session");
  const prototype: unknown = typeof Session === "function"
    ? Reflect.get(Session, "prototype")
    : undefined;
  return typeof prototype === "object" && prototype !== null ? prototype : undefined;
}

const delayed = new WeakSet<object>();

/**
 * Makes `destroy()` of the prototype happen later, once for each session. Answers whether it could; a
 * second call changes nothing.
 */
export function destroyLater(prototype: object, clock: Clock): boolean {
  const destroy: unknown = Reflect.get(prototype, "destroy");
  if (!isMethod(destroy) || delayed.has(prototype)) return isMethod(destroy);
  delayed.add(prototype);
  const going = new WeakSet<object>();
  function destroySoon(this: object, ...args: unknown[]): void {
    if (going.has(this) || !isMethod(destroy)) return;
    going.add(this);
    clock.sleep(0).then(() => destroy.apply(this, args));
  }
  return Reflect.set(prototype, "destroy", destroySoon);
}

/** Does so for every HTTP/2 session of this process. To be called before the first one is made. */
export function guardSessions(): boolean {
  const prototype = sessionPrototype();
  return prototype !== undefined && destroyLater(prototype, systemClock);
}
