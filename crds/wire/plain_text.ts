/** Schema of a short text in one line: without control characters, and others that steer what shows them. */
import { z } from "zod";

/** Says whether a text has none of them. */
export const isPlainText = (text: string): boolean => /^\P{C}*$/u.test(text);

/** Returns the schema of a plain text of at most so many characters. */
export const plainText = (max: number) =>
  z.string({ error: `must be a string of at most ${max} characters` })
    .max(max, { error: `must have at most ${max} characters` })
    .refine(isPlainText, { error: "must not have control characters" });
