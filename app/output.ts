/** Output of commands; a reader that has gone is no error. */
import { safeLines } from "../terminal/shown_text.ts";

const encoder = new TextEncoder();

/** Returns false if nobody reads it any more. */
function writeTo(stream: { writeSync(bytes: Uint8Array): number }, text: string): boolean {
  const bytes = encoder.encode(text);
  try {
    for (let at = 0; at < bytes.length;) at += stream.writeSync(bytes.subarray(at));
    return true;
  } catch (error) {
    if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
    return false;
  }
}

/** Writes to standard output. Returns false if nobody reads it any more. */
export const printIfRead = (text: string): boolean => writeTo(Deno.stdout, text);

/** Writes to standard output. */
export const print = (text: string): void => void printIfRead(text);

/** Writes what is wrong to standard error; words of others in it cannot steer the terminal. */
export const warn = (text: string): void =>
  void writeTo(Deno.stderr, `milepost: ${safeLines(text)}\n`);
