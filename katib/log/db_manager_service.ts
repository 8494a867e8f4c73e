/** What Katib's DBManager service does, over a store of ours: who may write, and what each call answers. */
import { Buffer } from "node:buffer";
import { type handleUnaryCall, type Server, type ServerUnaryCall, status } from "@grpc/grpc-js";
import { KATIB } from "../../crds/katib_names.ts";
import { messageOf } from "../../kube/errors.ts";
import { type KnownRow, knownRow } from "./known_row.ts";
import type { LogStore } from "./log_store.ts";
import { shortTime, sortableTime } from "../../trials/recording/row_time.ts";
import { SinkError } from "./sink.ts";
import type { StoreWriter } from "./store_writer.ts";
import {
  decodeGet,
  decodeHealthRequest,
  decodeReport,
  EMPTY,
  encodeLogReply,
  type GetRequest,
  METHODS,
  type ReportRequest,
  SERVING,
  type WireRow,
} from "./wire.ts";

/** What the service is made of. */
export interface ServiceParts {
  readonly store: Pick<LogStore, "read" | "delete" | "check">;
  readonly writer: Pick<StoreWriter, "append">;
}

/** A call that is not done, by gRPC's status code. */
class CallRefused extends Error {
  readonly code: status;

  constructor(code: status, message: string) {
    super(message);
    this.code = code;
  }
}

/** The time of the one row that Katib's controller writes itself, where a trial reported nothing. */
const UNAVAILABLE_AT = "0001-01-01T00:00:00.000000Z";
const MAX_NAME = 255;
/** Services that may be asked for their health, as Katib's DB manager has them. */
const HEALTHY: ReadonlySet<string> = new Set(["", "grpc.health.v1.Health"]);
const never = new AbortController().signal;

/** TLS is there for clients with a certificate alone, so that who speaks it has one. */
const hasCertificate = (call: ServerUnaryCall<unknown, Buffer>) =>
  call.getAuthContext().transportSecurityType === "ssl";

function trialNameOf(name: string): string {
  if (name !== "" && [...name].length <= MAX_NAME) return name;
  throw new CallRefused(
    status.INVALID_ARGUMENT,
    `trial_name must have 1 to ${MAX_NAME} characters`,
  );
}

function rowOf({ time, metric }: WireRow): KnownRow {
  if (metric === undefined) {
    throw new CallRefused(status.INVALID_ARGUMENT, "a row has no metric");
  }
  try {
    return knownRow({ time, ...metric });
  } catch (error) {
    throw new CallRefused(status.INVALID_ARGUMENT, messageOf(error));
  }
}

/** A bound of a range; undefined for none. */
function boundOf(field: string, text: string): string | undefined {
  if (text === "") return undefined;
  const at = sortableTime(text);
  if (at !== undefined) return at;
  throw new CallRefused(status.INVALID_ARGUMENT, `${field}: "${text}" is no RFC 3339 time`);
}

/** Whether it is the row that says that a trial has no metrics. */
const isUnavailableRow = ({ at, wire }: KnownRow) =>
  at === UNAVAILABLE_AT && wire.metric.value === KATIB.unavailable;

function createCalls({ store, writer }: ServiceParts) {
  async function report(
    { trialName, rows }: ReportRequest,
    call: ServerUnaryCall<unknown, Buffer>,
  ): Promise<Buffer> {
    const log = trialNameOf(trialName);
    // As Katib's own does: a row without a time is left out.
    const known = rows.filter(({ time }) => time !== "").map(rowOf);
    const isKatibs = known.length === 1 && known.every(isUnavailableRow);
    if (!isKatibs && !hasCertificate(call)) {
      throw new CallRefused(
        status.PERMISSION_DENIED,
        "writing takes TLS with a client certificate of the manager's; without one only " +
          `a row "${KATIB.unavailable}" of year 1 is taken`,
      );
    }
    if (known.length > 0) {
      // No trial's name has a slash: these are logs of jobs without one.
      await writer.append({ log, isPlain: log.includes("/"), rows: known }, never);
    }
    return EMPTY;
  }

  function get(request: GetRequest): Promise<Buffer> {
    const rows = store.read(trialNameOf(request.trialName), {
      metric: request.metricName === "" ? undefined : request.metricName,
      from: boundOf("start_time", request.startTime),
      to: boundOf("end_time", request.endTime),
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
  return { report, get, delete: forget, health };
}

function statusOf(error: unknown): { code: status; details: string } {
  if (error instanceof CallRefused) return { code: error.code, details: error.message };
  const isSink = error instanceof SinkError;
  return { code: isSink ? status.UNAVAILABLE : status.INTERNAL, details: messageOf(error) };
}

const identity = (bytes: Buffer) => bytes;

/** Adds the service, and the health check, to a server. */
export function addObservationService(server: Server, parts: ServiceParts): void {
  const calls = createCalls(parts);

  function unary<Request>(
    path: string,
    decode: (bytes: Buffer) => Request,
    answer: (request: Request, call: ServerUnaryCall<Request, Buffer>) => Promise<Buffer>,
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
  unary(METHODS.health, decodeHealthRequest, calls.health);
}
