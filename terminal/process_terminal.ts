/** The terminal of this process. */
import { onAbort } from "../platform/base/aborted.ts";
import type { Terminal } from "./full_screen.ts";
import type { Look } from "./styles.ts";

/** Size where a terminal does not say it. */
const USUAL_SIZE = { columns: 80, rows: 24 } as const;

const encoder = new TextEncoder();

/** Writes all of a text. Returns false if nobody reads it any more. */
export function writeTo(stream: { writeSync(bytes: Uint8Array): number }, text: string): boolean {
  const bytes = encoder.encode(text);
  try {
    for (let at = 0; at < bytes.length;) at += stream.writeSync(bytes.subarray(at));
    return true;
  } catch (error) {
    if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
    return false;
  }
}

/** Returns how it is drawn on: colours where it has them and they are wanted. */
export function lookOfProcess({ ascii = false }: { readonly ascii?: boolean } = {}): Look {
  const colours = Deno.stdout.isTerminal() && !Deno.noColor && Deno.env.get("TERM") !== "dumb";
  return { characters: ascii ? "ascii" : "unicode", colours };
}

/** The terminal: standard input and output. */
export const processTerminal: Terminal = {
  write(text) {
    try {
      writeTo(Deno.stdout, text);
    } catch {
      // A terminal that has gone is drawn on no more; its end is told by the signal.
    }
  },
  size() {
    try {
      const { columns, rows } = Deno.consoleSize();
      return columns > 0 && rows > 0 ? { columns, rows } : USUAL_SIZE;
    } catch {
      return USUAL_SIZE;
    }
  },
  setRaw(isRaw) {
    if (!Deno.stdin.isTerminal()) return;
    try {
      Deno.stdin.setRaw(isRaw);
    } catch {
      // As above.
    }
  },
  async onInput(listener, signal) {
    const decoder = new TextDecoder();
    const buffer = new Uint8Array(1024);
    try {
      while (!signal?.aborted) {
        const length = await Deno.stdin.read(buffer);
        if (length === null || signal?.aborted) return;
        listener(decoder.decode(buffer.subarray(0, length), { stream: true }));
      }
    } catch {
      // A terminal that has gone has no keys.
    }
  },
  onCrash(listener, signal) {
    for (const event of ["error", "unhandledrejection", "unload"]) {
      globalThis.addEventListener(event, listener, { signal });
    }
  },
  onResize(listener, signal) {
    Deno.addSignalListener("SIGWINCH", listener);
    onAbort(signal, () => Deno.removeSignalListener("SIGWINCH", listener));
  },
};
