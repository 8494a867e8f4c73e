/** `milepost observation-log`: Katib's DB manager on SQLite, without MySQL or Postgres. */
import { getLogger } from "@logtape/logtape";
import { join } from "node:path";
import type { z } from "zod";
import { deleteOldLogs, type HistoryBounds } from "../../katib/log/kept_ages.ts";
import { openLogStore } from "../../katib/log/log_store.ts";
import { type ServerTls, startObservationServer } from "../../katib/log/db_manager_server.ts";
import { onAbort } from "../../platform/base/aborted.ts";
import { type Clock, systemClock } from "../../platform/base/clock.ts";
import { ConfigurationError, messageOf } from "../../platform/kube/errors.ts";
import type { observationLogSettings } from "../configuration/command_settings.ts";
import { followTls, readAuthorities, readCertificate } from "../tls_files.ts";

const log = getLogger(["milepost", "katib"]);

type Settings = z.infer<typeof observationLogSettings>;

/** How to start, by the settings. */
export interface ObservationLogOptions
  extends Omit<Settings, "logLevel" | keyof HistoryBounds>, HistoryBounds {
  readonly clock?: Clock;
}

/** For calls that are under way at the end, in milliseconds. */
const DRAIN_MS = 5_000;

/** The certificates as the files have them now; undefined if no flag names any. */
function readTls(options: ObservationLogOptions): ServerTls | undefined {
  const { tlsCert, tlsKey, clientCa } = options;
  if (tlsCert !== undefined && tlsKey !== undefined && clientCa !== undefined) {
    const ca = readAuthorities("--client-ca", clientCa);
    return { ...readCertificate({ tlsCert, tlsKey }), clientCa: ca };
  }
  if (tlsCert === undefined && tlsKey === undefined && clientCa === undefined) return undefined;
  throw new ConfigurationError("--tls-cert, --tls-key and --client-ca must be given together");
}

/** A folder that cannot be used is the user's to change: one line that names the flag. */
function openStore(path: string | undefined, maxBytes: number | undefined) {
  try {
    return openLogStore({ path, maxBytes });
  } catch (cause) {
    throw new ConfigurationError(`--data-dir: ${messageOf(cause)}`, { cause });
  }
}

/** Serves until it is stopped. Rejects if a file, the folder or the port cannot be used. */
export async function startObservationLog(options: ObservationLogOptions) {
  const { dataDir, bindAddress, port, clock = systemClock } = options;
  const tls = readTls(options);
  const path = dataDir === undefined ? undefined : join(dataDir, "observations.db");
  // Memory is not the operator's disk.
  const store = openStore(path, path === undefined ? undefined : options.historyBytes);
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => store.close());
  const server = await startObservationServer({ hostname: bindAddress, port, tls, store, clock });
  cleanup.defer(() => server.stop(DRAIN_MS));
  if (tls === undefined) {
    log.warn("no client can write without --tls-cert, --tls-key and --client-ca");
  }
  const loops = new AbortController();
  const { signal } = loops;
  onAbort(signal, deleteOldLogs(store, clock, options));
  const use = (next: ServerTls) => server.updateTls(next);
  const reloading = tls && followTls(tls, () => readTls(options), use, { clock, log, signal });
  cleanup.defer(async () => {
    loops.abort();
    await reloading;
  });
  const started = cleanup.move();
  return {
    port: server.port,
    /** Ends calls that are under way, and closes the database. */
    stop: () => started.disposeAsync(),
  };
}
