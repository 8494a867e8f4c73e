/** Values that the process of `deno task bench streams` prints. */
import { z } from "zod";

/** The values. */
export const streamsTakenSchema = z.object({
  cores: z.number(),
  /** Longest time in which nothing else was done, in milliseconds. */
  longestMs: z.number(),
  /** Of another user's lists. */
  readMs: z.array(z.number()),
  /** Events of all streams a second. */
  events: z.number(),
});
export type StreamsTaken = z.infer<typeof streamsTakenSchema>;
