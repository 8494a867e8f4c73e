/** Garbage collection on request. V8 does so only if it was started with `--expose-gc`, as the executable is. */

/** Collects garbage if that can be asked for. */
export function collectGarbage(how: Readonly<Record<string, string>>): void {
  const collect: unknown = Reflect.get(globalThis, "gc");
  if (typeof collect === "function") Reflect.apply(collect, undefined, [how]);
}

/** Bytes after which the buffers that they came in are collected. */
const EVERY_BYTES = 4 << 20;

/**
 * Returns a function to call with the bytes of long bodies as they come. V8 knows the small objects that stand for the
 * buffers of the runtime, not the buffers, and would keep hundreds of megabytes of them.
 */
export function createReceivedGarbage(): (bytes: number) => void {
  let received = 0;
  return (bytes) => {
    received += bytes;
    if (received < EVERY_BYTES) return;
    received = 0;
    collectGarbage({ type: "minor" });
  };
}
