/** Choice of the observation sink by the manager's settings; each sink's modules are loaded when it is used. */
import type { LogKey } from "../../trials/recording/observation_row.ts";
import type { HistoryBounds } from "./kept_ages.ts";
import type { DbManagerClientOptions } from "./db_manager_client.ts";
import {
  type ObservationSink,
  SinkError,
  type SinkName,
  type SinkTraits,
} from "../../owner/observations/sink.ts";

/** Kinds of observation sinks. */
export type SinkChoice =
  /** Katib's DB manager. */
  | { readonly kind: "katib" }
  | { readonly kind: "memory" }
  | { readonly kind: "sqlite"; readonly path: string }
  /** Another server of the same gRPC service, such as `milepost observation-log`. */
  | { readonly kind: "grpc"; readonly address: string };

/** Metrics of the sink. */
export interface SinkMetrics {
  /** Counts rows that were `written`, `refused`, or not written because the log is `unavailable`. */
  rows(sink: SinkName, result: "written" | SinkError["kind"], count: number): void;
  /** Observes the duration of an append. */
  appended(sink: SinkName, seconds: number): void;
}

/** Options of {@link createSink}. */
export interface SinkOptions extends Omit<DbManagerClientOptions, "address"> {
  /** `--observation-sink`; undefined if it was not given. */
  readonly setting: SinkChoice | undefined;
  /** `--katib-db-manager`, `host:port`. */
  readonly katibDbManager: string;
  /** Whether the cluster has Katib's Trials now, which decides if no sink was chosen. */
  readonly trialsExist: () => boolean;
  readonly metrics: SinkMetrics;
  /** Bounds of a file of this process. */
  readonly bounds?: HistoryBounds;
}

/** The sink, with its rows and failed reads counted and its time measured. */
function metered(inner: ObservationSink, { metrics, clock }: SinkOptions): ObservationSink {
  return {
    ...inner,
    get traits() {
      return inner.traits;
    },
    async append(key, rows, signal) {
      const sink = inner.traits.name;
      const began = clock.monotonic();
      let result: Parameters<SinkMetrics["rows"]>[1] = "unavailable";
      try {
        await inner.append(key, rows, signal);
        result = "written";
      } catch (error) {
        if (error instanceof SinkError) result = error.kind;
        throw error;
      } finally {
        metrics.rows(sink, result, rows.length);
        metrics.appended(sink, (clock.monotonic() - began) / 1000);
      }
    },
    async read(key, signal, range) {
      try {
        return await inner.read(key, signal, range);
      } catch (error) {
        // A log that is unavailable from the start is never written: failed reads count its rows.
        // A deadline, too, ends a read with a SinkError; a reader that leaves does not.
        const why: unknown = signal.aborted ? signal.reason : error;
        if (why instanceof SinkError) metrics.rows(inner.traits.name, why.kind, 1);
        throw error;
      }
    },
  };
}

const ofStore = () => import("./sqlite_sink.ts");
const memory = async ({ clock }: SinkOptions) => (await ofStore()).createMemorySink({ clock });

/** Katib's table is for trials; its databases take fewer rows a second when many calls come at a time. */
const KATIB_SINK = { name: "katib", keepsPlainJobs: false, maxCalls: 4 } as const;
/** A log server of our own was named to keep everything, and commits many calls together. */
const GRPC_SINK = { name: "grpc", keepsPlainJobs: true, maxCalls: 16 } as const;

async function grpc(
  peer: typeof KATIB_SINK | typeof GRPC_SINK,
  address: string,
  { clock, deadlineMs, tls, mayWrite }: SinkOptions,
): Promise<ObservationSink> {
  const [{ createDbManagerClient }, { createGrpcSink }] = await Promise.all([
    import("./db_manager_client.ts"),
    import("./grpc_sink.ts"),
  ]);
  return createGrpcSink({
    ...peer,
    client: createDbManagerClient({ address, tls, clock, deadlineMs, mayWrite }),
    address,
    clock,
    settleMs: deadlineMs,
  });
}

const textOf = ({ namespace, name, uid }: LogKey) => `${namespace}/${name}/${uid}`;

/**
 * The sink if none was chosen: Katib's DB manager if the cluster has Katib's Trials, else memory. Each is
 * made when it is first needed. The log of a job that began in memory stays there.
 */
function chosenByCluster(options: SinkOptions): ObservationSink {
  const { trialsExist, katibDbManager } = options;
  const begunInMemory = new Set<string>();
  let inMemory: Promise<ObservationSink> | undefined;
  let inKatib: Promise<ObservationSink> | undefined;

  const ofKatib = () => inKatib ??= grpc(KATIB_SINK, katibDbManager, options);

  function of(key: LogKey): Promise<ObservationSink> {
    const isKatibs = key.kind === "trial" || (trialsExist() && !begunInMemory.has(textOf(key)));
    if (isKatibs) return ofKatib();
    return inMemory ??= memory(options);
  }
  return {
    get traits(): SinkTraits {
      const isKatibs = trialsExist();
      return {
        name: isKatibs ? "katib" : "memory",
        keepsPlainJobs: !isKatibs,
        isShared: isKatibs,
        knowsTrialsByNameAlone: isKatibs,
        keepsRuns: !isKatibs,
      };
    },
    history: {
      keep: async (news, signal) => await (await ofKatib()).history?.keep(news, signal),
      read: async (key, signal) => await (await of(key)).history?.read(key, signal),
    },
    async append(key, rows, signal) {
      const sink = await of(key);
      if (!sink.traits.isShared) begunInMemory.add(textOf(key));
      await sink.append(key, rows, signal);
    },
    read: async (key, signal, range) => await (await of(key)).read(key, signal, range),
    async delete(key, signal) {
      await (await of(key)).delete(key, signal);
      begunInMemory.delete(textOf(key));
    },
    async close() {
      for (const sink of await Promise.all([inMemory, inKatib])) await sink?.close();
    },
  };
}

async function unmetered(options: SinkOptions): Promise<ObservationSink> {
  const { setting, katibDbManager } = options;
  switch (setting?.kind) {
    case undefined:
      return chosenByCluster(options);
    case "memory":
      return await memory(options);
    case "sqlite":
      return (await ofStore()).createSqliteSink(setting.path, options.clock, options.bounds);
    case "katib":
      return await grpc(KATIB_SINK, katibDbManager, options);
    case "grpc":
      return await grpc(GRPC_SINK, setting.address, options);
  }
}

/**
 * Creates the sink of the settings. A server is first called when the sink is first used. Rejects with an
 * Error that says why a file cannot be used.
 */
export async function createSink(options: SinkOptions): Promise<ObservationSink> {
  return metered(await unmetered(options), options);
}
