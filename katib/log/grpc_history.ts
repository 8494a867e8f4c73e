/** Service `milepost.v1.History`, which keeps a text beside each log of a DBManager service: its messages, as JSON, and its client. */
import { Buffer } from "node:buffer";
import { status } from "@grpc/grpc-js";
import { z } from "zod";
import type { Clock } from "../../platform/base/clock.ts";
import { type HistoryStore, SinkError } from "../../owner/observations/sink.ts";
import type { LogKey } from "../../trials/recording/observation_row.ts";
import { CallError, type DbManagerClient } from "./db_manager_client.ts";
import { HISTORY_METHODS } from "./wire.ts";

/** Time for which a server that has no such service is not asked again: it may be replaced, in milliseconds. */
const AGAIN_MS = 300_000;

/** Returns the function that decodes a message. It throws if the bytes are not one. */
const decodeBy = <Message>(schema: z.ZodType<Message>) => (bytes: Uint8Array): Message =>
  schema.parse(JSON.parse(new TextDecoder().decode(bytes)));

/** Name of a log, as the DBManager service has it. */
const log = z.string();
const news = z.object({ log, text: z.string().optional(), endedMs: z.int().optional() });

export const decodeKeep = decodeBy(z.object({ news: z.array(news) }));
export const decodeRead = decodeBy(z.object({ log }));
const decodeText = decodeBy(z.object({ text: z.string() }));
export const encodeJson = (message: object): Buffer => Buffer.from(JSON.stringify(message));

/** Creates a {@link HistoryStore} over the client; `nameOf` names a log in the service. */
export function createGrpcHistory(
  client: Pick<DbManagerClient, "call">,
  clock: Clock,
  nameOf: (key: LogKey) => string,
): HistoryStore {
  let absentUntilMs = -Infinity;

  /** Resolves with undefined if the server has no such service: Katib's has none. */
  async function call(path: string, message: object, signal: AbortSignal) {
    if (clock.monotonic() < absentUntilMs) return undefined;
    try {
      return await client.call(path, encodeJson(message), signal);
    } catch (error) {
      if (!(error instanceof CallError)) throw error;
      const isAbsent = error.code === status.UNIMPLEMENTED;
      if (!isAbsent) throw new SinkError("unavailable", error.message, { cause: error });
      absentUntilMs = clock.monotonic() + AGAIN_MS;
      return undefined;
    }
  }

  return {
    async keep(news, signal) {
      const named = news.map(({ key, ...it }) => ({ ...it, log: nameOf(key) }));
      await call(HISTORY_METHODS.keep, { news: named }, signal);
    },
    async read(key, signal) {
      const reply = await call(HISTORY_METHODS.read, { log: nameOf(key) }, signal);
      return reply && decodeText(reply).text;
    },
  };
}
