/** Messages of the service `milepost.v1.History`, which keeps histories beside the logs of a DBManager service: JSON. */
import { Buffer } from "node:buffer";
import { z } from "zod";
import { historyNewsSchema, historySchema } from "../../owner/observations/job_history.ts";

/** Paths of the methods. A server without them keeps no histories. */
export const HISTORY_METHODS = {
  keep: "/milepost.v1.History/Keep",
  read: "/milepost.v1.History/Read",
} as const;

/** Name of a log, as the DBManager service has it. */
const log = z.string().min(1);
const keepSchema = z.object({ news: z.array(historyNewsSchema.extend({ log })) });
const readSchema = z.object({ log });

/** A request to keep what is new of histories. */
export type KeepRequest = z.infer<typeof keepSchema>;
/** A request for the history of a log. */
export type ReadRequest = z.infer<typeof readSchema>;

/** Encodes a message. */
export const encodeJson = (message: object): Buffer => Buffer.from(JSON.stringify(message));

/** Returns the function that decodes a message. It throws if the bytes are not one. */
const decodeBy = <Message>(schema: z.ZodType<Message>) => (bytes: Uint8Array): Message =>
  schema.parse(JSON.parse(new TextDecoder().decode(bytes)));

export const decodeKeep = decodeBy(keepSchema);
export const decodeRead = decodeBy(readSchema);
export const decodeHistory = decodeBy(historySchema);
