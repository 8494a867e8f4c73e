/**
 * Fake DB manager that keeps a row as often as it is reported, as Katib's does. It can fail, hang, be slow, and
 * lose its replies.
 */
import { Buffer } from "node:buffer";
import { Server, ServerCredentials, status } from "@grpc/grpc-js";
import { sortableTime } from "../../../trials/recording/row_time.ts";
import {
  decodeGet,
  decodeReport,
  EMPTY,
  encodeLogReply,
  METHODS,
  type ReportRequest,
  type WireRow,
} from "../../../katib/log/wire.ts";

/** The fate of one report. */
export type Fate =
  /** It is written, and answered. */
  | { readonly kind: "written" }
  /** It is not written, and answered with an error. */
  | { readonly kind: "error"; readonly code: status }
  /** It is written when `written` resolves, and answered with an error at once, or never. */
  | { readonly kind: "lost"; readonly written?: Promise<void>; readonly code?: status };

/** A DB manager, and a record of its calls. */
export interface FakeDbManager {
  readonly address: string;
  readonly port: number;
  /** The rows of each log, in the order in which they came. */
  readonly rows: ReadonlyMap<string, readonly WireRow[]>;
  /** Reports, in their order. */
  readonly reports: readonly ReportRequest[];
  readonly reads: () => number;
  /** Rows that these gave out. */
  readonly rowsRead: () => number;
  /** Most reads that were under way at a time, and what each of them waits for. */
  readonly mostReadsAtOnce: () => number;
  beforeRead: () => Promise<void>;
  /** Most reports that were under way at a time. */
  readonly mostAtOnce: () => number;
  /** Decides the fate of each report. */
  fate: (report: ReportRequest, index: number) => Fate | Promise<Fate>;
  stop(): Promise<void>;
  /** Sends GOAWAY to its clients, as in an orderly shutdown, and ends. */
  sayGoaway(): Promise<void>;
}

const identity = (bytes: Buffer) => bytes;
const WRITTEN: Fate = { kind: "written" };

/** Starts a DB manager, on a free port or on the given one. */
export async function startFakeDbManager(port = 0): Promise<FakeDbManager> {
  const rows = new Map<string, WireRow[]>();
  const reports: ReportRequest[] = [];
  let reads = 0;
  let rowsRead = 0;
  let readsAtOnce = 0;
  let mostReadsAtOnce = 0;
  let atOnce = 0;
  let mostAtOnce = 0;
  const write = ({ trialName, rows: more }: ReportRequest) =>
    void rows.set(trialName, [...(rows.get(trialName) ?? []), ...more]);
  const server = new Server();
  server.register<ReportRequest, Buffer>(
    METHODS.report,
    (call: { request: ReportRequest }, reply: (error: object | null, bytes?: Buffer) => void) => {
      const index = reports.push(call.request) - 1;
      mostAtOnce = Math.max(mostAtOnce, ++atOnce);
      const done = (error: object | null) => {
        atOnce--;
        reply(error, EMPTY);
      };
      Promise.resolve(manager.fate(call.request, index)).then((fate) => {
        if (fate.kind === "error") return done({ code: fate.code, details: "told to fail" });
        if (fate.kind === "written") {
          write(call.request);
          return done(null);
        }
        (fate.written ?? Promise.resolve()).then(() => write(call.request));
        if (fate.code !== undefined) done({ code: fate.code, details: "told to lose it" });
        else atOnce--;
      });
    },
    identity,
    decodeReport,
    "unary",
  );
  server.register(
    METHODS.get,
    async (
      call: { request: ReturnType<typeof decodeGet> },
      reply: (error: null, bytes: Buffer) => void,
    ) => {
      reads++;
      mostReadsAtOnce = Math.max(mostReadsAtOnce, ++readsAtOnce);
      await manager.beforeRead();
      readsAtOnce--;
      const { trialName, metricName, startTime, endTime } = call.request;
      const at = (time: string) => sortableTime(time) ?? "";
      const found = (rows.get(trialName) ?? []).filter(({ time, metric }) =>
        (metricName === "" || metric?.name === metricName) &&
        (startTime === "" || at(time) >= at(startTime)) &&
        (endTime === "" || at(time) <= at(endTime))
      );
      rowsRead += found.length;
      reply(null, encodeLogReply([...found].sort((a, b) => at(a.time) < at(b.time) ? -1 : 1)));
    },
    identity,
    decodeGet,
    "unary",
  );
  server.register(
    METHODS.delete,
    (
      call: { request: ReturnType<typeof decodeGet> },
      reply: (error: null, bytes: Buffer) => void,
    ) => {
      rows.delete(call.request.trialName);
      reply(null, EMPTY);
    },
    identity,
    decodeGet,
    "unary",
  );
  const bound = await new Promise<number>((resolve, reject) =>
    server.bindAsync(
      `127.0.0.1:${port}`,
      ServerCredentials.createInsecure(),
      (error, bound) => error === null ? resolve(bound) : reject(error),
    )
  );
  const manager: FakeDbManager = {
    address: `127.0.0.1:${bound}`,
    port: bound,
    rows,
    reports,
    reads: () => reads,
    rowsRead: () => rowsRead,
    mostReadsAtOnce: () => mostReadsAtOnce,
    beforeRead: () => Promise.resolve(),
    mostAtOnce: () => mostAtOnce,
    fate: () => WRITTEN,
    stop() {
      server.forceShutdown();
      return Promise.resolve();
    },
    sayGoaway: () => new Promise((resolve) => server.tryShutdown(() => resolve())),
  };
  return manager;
}
