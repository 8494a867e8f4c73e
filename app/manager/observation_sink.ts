/** Which observation log the manager writes, by its settings. What a log needs is loaded with it. */
import type { ClientTls } from "../../katib/log/peer_protocol.ts";
import { type ObservationSink, SinkError } from "../../katib/log/sink.ts";
import { type LogKey } from "../../trials/recording/observation_row.ts";
import type { Clock } from "../../kube/clock.ts";
import type { Metrics } from "./metrics.ts";
import type { SinkChoice } from "../configuration/observation_settings.ts";

/** What a sink is made by. */
export interface SinkOptions {
  /** `--observation-sink`; undefined where nobody chose. */
  readonly setting: SinkChoice | undefined;
  /** `--katib-db-manager`, `host:port`. */
  readonly katibDbManager: string;
  /** Whether the cluster has Katib's Trials now: which sink an unset setting means. */
  readonly trialsExist: () => boolean;
  readonly clock: Clock;
  readonly metrics: Pick<Metrics, "observations" | "observationSeconds">;
  /** Longest that one attempt of a call may take (decision 7), in milliseconds. */
  readonly deadlineMs: number;
  /**
   * By what the manager shows a gRPC server that speaks TLS, as `milepost observation-log` does, who it
   * is. Undefined: plaintext always.
   */
  readonly tls?: (() => ClientTls) | undefined;
  /** Asked right before rows are sent over gRPC: whether this replica may still write (decision 7). */
  readonly mayWrite?: (() => boolean) | undefined;
}

/** The sink counts its rows and failed reads and takes its time: `observations_total`, `observation_seconds`. */
function metered(inner: ObservationSink, { metrics, clock }: SinkOptions): ObservationSink {
  const { observations, observationSeconds } = metrics;
  return {
    get name() {
      return inner.name;
    },
    get keepsPlainJobs() {
      return inner.keepsPlainJobs;
    },
    get isShared() {
      return inner.isShared;
    },
    async append(key, rows, signal) {
      const sink = inner.name;
      const began = clock.monotonic();
      let result = "unavailable";
      try {
        await inner.append(key, rows, signal);
        result = "written";
      } catch (error) {
        if (error instanceof SinkError) result = error.kind;
        throw error;
      } finally {
        observations.inc({ sink, result }, rows.length);
        observationSeconds.observe({ sink }, (clock.monotonic() - began) / 1000);
      }
    },
    async read(key, signal, since) {
      try {
        return await inner.read(key, signal, since);
      } catch (error) {
        // A log that is down from the start is never written to: its rows are counted by the reads that fail.
        // A deadline ends them with a SinkError, too; a reader who goes away does not.
        const why: unknown = signal.aborted ? signal.reason : error;
        if (why instanceof SinkError) observations.inc({ sink: inner.name, result: why.kind });
        throw error;
      }
    },
    delete: (key, signal) => inner.delete(key, signal),
    close: () => inner.close(),
  };
}

async function memory({ clock }: SinkOptions): Promise<ObservationSink> {
  const { createMemorySink } = await import("../../katib/log/memory_sink.ts");
  return createMemorySink({ clock });
}

async function sqlite(path: string, { clock }: SinkOptions): Promise<ObservationSink> {
  const { createSqliteSink } = await import("../../katib/log/sqlite_sink.ts");
  return createSqliteSink(path, clock);
}

async function grpc(
  name: "katib" | "grpc",
  address: string,
  { clock, deadlineMs, tls, mayWrite }: SinkOptions,
): Promise<ObservationSink> {
  const [{ createDbManagerClient }, { createGrpcSink }] = await Promise.all([
    import("../../katib/log/db_manager_client.ts"),
    import("../../katib/log/grpc_sink.ts"),
  ]);
  return createGrpcSink({
    name,
    // Katib's table is for trials; a log server of our own was named to keep everything.
    keepsPlainJobs: name === "grpc",
    client: createDbManagerClient({ address, tls, clock, deadlineMs, mayWrite }),
    address,
    clock,
    settleMs: deadlineMs,
    // Katib's databases take fewer rows a second when many calls come at a time; ours commits together.
    maxCalls: name === "katib" ? 4 : 16,
  });
}

const textOf = ({ namespace, name, uid }: LogKey) => `${namespace}/${name}/${uid}`;

/**
 * Where nobody chose: Katib's DB manager where its Trials are, memory where they are not. Each is made
 * when it is first needed. A job's log that began in memory stays there.
 */
function chosenByCluster(options: SinkOptions): ObservationSink {
  const { trialsExist, katibDbManager } = options;
  const begunInMemory = new Set<string>();
  let inMemory: Promise<ObservationSink> | undefined;
  let inKatib: Promise<ObservationSink> | undefined;

  function of(key: LogKey): Promise<ObservationSink> {
    const isKatibs = key.kind === "trial" || (trialsExist() && !begunInMemory.has(textOf(key)));
    if (isKatibs) return inKatib ??= grpc("katib", katibDbManager, options);
    return inMemory ??= memory(options);
  }
  return {
    get name() {
      return trialsExist() ? "katib" : "memory";
    },
    get keepsPlainJobs() {
      return !trialsExist();
    },
    get isShared() {
      return trialsExist();
    },
    async append(key, rows, signal) {
      const sink = await of(key);
      if (sink.name === "memory") begunInMemory.add(textOf(key));
      await sink.append(key, rows, signal);
    },
    read: async (key, signal, since) => await (await of(key)).read(key, signal, since),
    async delete(key, signal) {
      await (await of(key)).delete(key, signal);
      begunInMemory.delete(textOf(key));
    },
    async close() {
      for (const sink of await Promise.all([inMemory, inKatib])) await sink?.close();
    },
  };
}

function unmetered(options: SinkOptions): Promise<ObservationSink> {
  const { setting, katibDbManager } = options;
  switch (setting?.kind) {
    case undefined:
      return Promise.resolve(chosenByCluster(options));
    case "memory":
      return memory(options);
    case "sqlite":
      return sqlite(setting.path, options);
    case "katib":
      return grpc("katib", katibDbManager, options);
    case "grpc":
      return grpc("grpc", setting.address, options);
  }
}

/**
 * The sink of the settings. One that is reached over the network is reached at its first use. Rejects
 * with an Error that says why where a file cannot be used.
 */
export async function createSink(options: SinkOptions): Promise<ObservationSink> {
  return metered(await unmetered(options), options);
}
