/** Histories beside the logs of a DBManager service, where its server keeps them: `milepost observation-log` does. */
import { status } from "@grpc/grpc-js";
import type { Clock } from "../../platform/base/clock.ts";
import type { HistoryStore } from "../../owner/observations/job_history.ts";
import { SinkError } from "../../owner/observations/sink.ts";
import type { LogKey } from "../../trials/recording/observation_row.ts";
import { CallError, type DbManagerClient } from "./db_manager_client.ts";
import { decodeHistory, encodeJson, HISTORY_METHODS } from "./history_wire.ts";

/** Time for which a server that keeps none is not asked again: it may be replaced by one that does, in milliseconds. */
const AGAIN_MS = 300_000;

/** Creates a {@link HistoryStore} over the client; `nameOf` names a log in the service. */
export function createGrpcHistory(
  { client, clock, nameOf }: {
    readonly client: Pick<DbManagerClient, "call">;
    readonly clock: Clock;
    readonly nameOf: (key: LogKey) => string;
  },
): HistoryStore {
  let absentUntilMs = -Infinity;

  /** Resolves with undefined if the server keeps no histories. */
  async function call(path: string, message: object, signal: AbortSignal) {
    if (clock.monotonic() < absentUntilMs) return undefined;
    try {
      return await client.call(path, encodeJson(message), signal);
    } catch (error) {
      if (!(error instanceof CallError)) throw error;
      if (error.code !== status.UNIMPLEMENTED) {
        throw new SinkError("unavailable", error.message, { cause: error });
      }
      absentUntilMs = clock.monotonic() + AGAIN_MS;
      return undefined;
    }
  }

  return {
    async keep(news, signal) {
      const named = news.map(({ key, ...it }) => ({ ...it, log: nameOf(key) }));
      return await call(HISTORY_METHODS.keep, { news: named }, signal) !== undefined;
    },
    async read(key, signal) {
      const reply = await call(HISTORY_METHODS.read, { log: nameOf(key) }, signal);
      return reply && decodeHistory(reply);
    },
  };
}
