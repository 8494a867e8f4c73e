/** Output of commands; a reader that has gone is no error. */
import { writeTo } from "../terminal/process_terminal.ts";
import { safeLines } from "../terminal/shown_text.ts";

/** Writes to standard output. Returns false if nobody reads it any more. */
export const printIfRead = (text: string): boolean => writeTo(Deno.stdout, text);

/** Writes to standard output. */
export const print = (text: string): void => void printIfRead(text);

/** Writes what is wrong to standard error; words of others in it cannot steer the terminal. */
export const warn = (text: string): void =>
  void writeTo(Deno.stderr, `milepost: ${safeLines(text)}\n`);
