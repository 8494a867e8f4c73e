/** Methods of Katib's DBManager service and of that of histories over a store, and the check of who may write. */
import { Buffer } from "node:buffer";
import { type handleUnaryCall, type Server, type ServerUnaryCall, status } from "@grpc/grpc-js";
import { KATIB } from "../../crds/katib_names.ts";
import { messageOf } from "../../platform/kube/errors.ts";
import { decodeKeep, decodeRead, encodeJson } from "./grpc_history.ts";
import { type KnownRow, knownRow } from "./known_row.ts";
import type { LogStore } from "./log_store.ts";
import { shortTime, sortableTime } from "../../trials/recording/row_time.ts";
import { SinkError } from "../../owner/observations/sink.ts";
import type { StoreWriter } from "./store_writer.ts";
import {
  decodeGet,
  decodeHealthRequest,
  decodeReport,
  EMPTY,
  encodeLogReply,
  type GetRequest,
  HISTORY_METHODS,
  METHODS,
  type ReportRequest,
  SERVING,
  type WireRow,
} from "./wire.ts";

/** Options of {@link addObservationService}. */
export interface ServiceParts {
  readonly store: Pick<LogStore, "read" | "delete" | "check" | "keep" | "history">;
  readonly writer: Pick<StoreWriter, "append">;
}

/** A call that is refused with a status code of gRPC. */
class CallRefused extends Error {
  constructor(readonly code: status, message: string) {
    super(message);
  }
}

/** The time of the row that Katib's controller writes if a trial reported nothing. */
const UNAVAILABLE_AT = "0001-01-01T00:00:00.000000Z";
const MAX_NAME = 255;
/** Services whose health can be queried, as in Katib's DB manager. */
const HEALTHY: ReadonlySet<string> = new Set(["", "grpc.health.v1.Health"]);
const never = new AbortController().signal;

type Answer<Request> = (
  request: Request,
  call: ServerUnaryCall<Request, Buffer>,
) => Promise<Buffer>;

/** Whether the client has a certificate, which TLS requires here. */
const hasCertificate = (call: ServerUnaryCall<unknown, Buffer>) =>
  call.getAuthContext().transportSecurityType === "ssl";

/** Whether a log is of a job without a trial: no name of a trial contains a slash. */
const isPlain = (log: string) => log.includes("/");

function trialNameOf(name: string): string {
  if (name !== "" && [...name].length <= MAX_NAME) return name;
  throw new CallRefused(
    status.INVALID_ARGUMENT,
    `trial_name must have 1 to ${MAX_NAME} characters`,
  );
}

function rowOf({ time, metric }: WireRow): KnownRow {
  if (metric === undefined) {
    throw new CallRefused(status.INVALID_ARGUMENT, "each row must have a metric");
  }
  try {
    return knownRow({ time, ...metric });
  } catch (error) {
    throw new CallRefused(status.INVALID_ARGUMENT, messageOf(error));
  }
}

/** Parses a bound of a range. Returns undefined if there is none. */
function boundOf(field: string, text: string): string | undefined {
  if (text === "") return undefined;
  const at = sortableTime(text);
  if (at !== undefined) return at;
  throw new CallRefused(status.INVALID_ARGUMENT, `${field}: "${text}" is not an RFC 3339 time`);
}

/** Whether a row says that a trial has no metrics. */
const isUnavailableRow = ({ at, wire }: KnownRow) =>
  at === UNAVAILABLE_AT && wire.metric.value === KATIB.unavailable;

function createCalls({ store, writer }: ServiceParts) {
  async function report(
    { trialName, rows }: ReportRequest,
    call: ServerUnaryCall<unknown, Buffer>,
  ): Promise<Buffer> {
    const log = trialNameOf(trialName);
    // Rows without a time are ignored, as in Katib's DB manager.
    const known = rows.filter(({ time }) => time !== "").map(rowOf);
    const isKatibs = known.length === 1 && known.every(isUnavailableRow);
    if (!isKatibs && !hasCertificate(call)) {
      throw new CallRefused(
        status.PERMISSION_DENIED,
        "writing requires TLS with a client certificate of the manager; without one only " +
          `a row "${KATIB.unavailable}" of year 1 is accepted`,
      );
    }
    if (known.length > 0) {
      await writer.append({ log, isPlain: isPlain(log), rows: known }, never);
    }
    return EMPTY;
  }

  function get(request: GetRequest): Promise<Buffer> {
    const rows = store.read(trialNameOf(request.trialName), {
      metric: request.metricName === "" ? undefined : request.metricName,
      since: boundOf("start_time", request.startTime),
      until: boundOf("end_time", request.endTime),
    });
    return Promise.resolve(encodeLogReply(
      rows.map(({ at, name, value }) => ({ time: shortTime(at), metric: { name, value } })),
    ));
  }

  function forget({ trialName }: GetRequest): Promise<Buffer> {
    store.delete(trialNameOf(trialName));
    return Promise.resolve(EMPTY);
  }

  function health({ service }: { readonly service: string }): Promise<Buffer> {
    if (!HEALTHY.has(service)) {
      throw new CallRefused(status.NOT_FOUND, `unknown service ${service}`);
    }
    store.check();
    return Promise.resolve(SERVING);
  }

  /** What is beside logs is the manager's alone. */
  function assertManager(call: ServerUnaryCall<unknown, Buffer>): void {
    if (hasCertificate(call)) return;
    throw new CallRefused(status.PERMISSION_DENIED, "this requires TLS with a client certificate");
  }

  const keep: Answer<ReturnType<typeof decodeKeep>> = ({ news }, call) => {
    assertManager(call);
    store.keep(news.map((it) => ({ ...it, isPlain: isPlain(trialNameOf(it.log)) })));
    return Promise.resolve(encodeJson({}));
  };
  const history: Answer<ReturnType<typeof decodeRead>> = ({ log }, call) => {
    assertManager(call);
    return Promise.resolve(encodeJson({ text: store.history(trialNameOf(log)) }));
  };
  return { report, get, delete: forget, health, keep, history };
}

function statusOf(error: unknown): { code: status; details: string } {
  if (error instanceof CallRefused) return { code: error.code, details: error.message };
  const isSink = error instanceof SinkError;
  return { code: isSink ? status.UNAVAILABLE : status.INTERNAL, details: messageOf(error) };
}

const identity = (bytes: Buffer) => bytes;

/** Adds the service, and gRPC's health check, to a server. */
export function addObservationService(server: Server, parts: ServiceParts): void {
  const calls = createCalls(parts);

  function unary<Request>(
    path: string,
    decode: (bytes: Buffer) => Request,
    answer: Answer<Request>,
  ): void {
    const handle: handleUnaryCall<Request, Buffer> = (call, reply) => {
      const work = async () => await answer(call.request, call);
      work().then(
        (bytes) => reply(null, bytes),
        (error: unknown) => reply(statusOf(error)),
      );
    };
    server.register(path, handle, identity, decode, "unary");
  }
  unary(METHODS.report, decodeReport, calls.report);
  unary(METHODS.get, decodeGet, calls.get);
  unary(METHODS.delete, decodeGet, calls.delete);
  unary(HISTORY_METHODS.keep, decodeKeep, calls.keep);
  unary(HISTORY_METHODS.read, decodeRead, calls.history);
  unary(METHODS.health, decodeHealthRequest, calls.health);
}
