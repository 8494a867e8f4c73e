/** Fields of messages between replicas, with their bounds. */
import { z } from "zod";

/** Name of an object, or of a namespace. */
export const nameSchema = z.string().min(1).max(253);
export const uidSchema = z.string().min(1).max(128);
/** Cursor of an answer: what is asked for with it is sent only if it has changed. */
export const cursorSchema = z.string().max(256);
/** Answer without a result: when to come again, and why. */
export const refusedSchema = z.object({ retryAfterMs: z.number().min(0), reason: z.string() });
