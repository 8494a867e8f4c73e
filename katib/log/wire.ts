/**
 * Protobuf messages of Katib's DBManager service (kubeflow/katib: pkg/apis/manager/v1beta1/api.proto) and of
 * gRPC's health check.
 */
import { Buffer } from "node:buffer";
import protobuf from "protobufjs/light.js";

/** A row on the wire; a peer may omit parts of it. */
export interface WireRow {
  /** RFC 3339; empty if absent. */
  readonly time: string;
  readonly metric: { readonly name: string; readonly value: string } | undefined;
}

/** `ReportObservationLogRequest`. */
export interface ReportRequest {
  readonly trialName: string;
  readonly rows: readonly WireRow[];
}

/** `GetObservationLogRequest`; an empty string sets no limit. */
export interface GetRequest {
  readonly trialName: string;
  readonly metricName: string;
  readonly startTime: string;
  readonly endTime: string;
}

/** Returns the request for all rows of a log. */
export function wholeLog(trialName: string): GetRequest {
  return { trialName, metricName: "", startTime: "", endTime: "" };
}

const text = (id: number) => ({ id, type: "string" });
const log = (id: number) => ({ id, type: "Log" });
const MESSAGES = protobuf.Root.fromJSON({
  nested: {
    Metric: { fields: { name: text(1), value: text(2) } },
    Row: { fields: { time: text(1), metric: { id: 2, type: "Metric" } } },
    Log: { fields: { rows: { id: 1, type: "Row", rule: "repeated" } } },
    Report: { fields: { trialName: text(1), log: log(2) } },
    Reply: { fields: { log: log(1) } },
    Get: {
      fields: { trialName: text(1), metricName: text(2), startTime: text(3), endTime: text(4) },
    },
  },
});

/** A log as it is decoded. Of what the bytes lack a text or list is empty, and a message null. */
interface LogFields {
  readonly rows:
    readonly (Omit<WireRow, "metric"> & { readonly metric: WireRow["metric"] | null })[];
}
class Report extends protobuf.Message<Report> {
  trialName = "";
  log: LogFields | null = null;
}
class Reply extends protobuf.Message<Reply> {
  log: LogFields | null = null;
}
class Get extends protobuf.Message<Get> implements GetRequest {
  trialName = "";
  metricName = "";
  startTime = "";
  endTime = "";
}
// By their names as texts: a bundle may rename classes.
MESSAGES.lookupType("Report").ctor = Report;
MESSAGES.lookupType("Reply").ctor = Reply;
MESSAGES.lookupType("Get").ctor = Get;

const bytesOf = (writer: protobuf.Writer): Buffer => Buffer.from(writer.finish());

const rowsOf = (log: LogFields | null): WireRow[] =>
  (log?.rows ?? []).map(({ time, metric }) => ({
    time,
    metric: metric ? { name: metric.name, value: metric.value } : undefined,
  }));

/** Encodes {@link ReportRequest}. */
export const encodeReport = ({ trialName, rows }: ReportRequest): Buffer =>
  bytesOf(Report.encode({ trialName, log: { rows } }));

/** Decodes {@link ReportRequest}. Throws if the bytes are not one. */
export function decodeReport(bytes: Uint8Array): ReportRequest {
  const { trialName, log } = Report.decode(bytes);
  return { trialName, rows: rowsOf(log) };
}

/** Encodes {@link GetRequest}; `DeleteObservationLogRequest` is one with only the name. */
export const encodeGet = (request: GetRequest): Buffer => bytesOf(Get.encode(request));

/** Decodes {@link GetRequest}. Throws if the bytes are not one. */
export const decodeGet = (bytes: Uint8Array): GetRequest => Get.decode(bytes);

/** Encodes `GetObservationLogReply`. */
export const encodeLogReply = (rows: readonly WireRow[]): Buffer =>
  bytesOf(Reply.encode({ log: { rows } }));

/** Decodes `GetObservationLogReply`. Throws if the bytes are not one. */
export const decodeLogReply = (bytes: Uint8Array): WireRow[] => rowsOf(Reply.decode(bytes).log);

/** A reply without content. */
export const EMPTY = Buffer.alloc(0);

/**
 * Decodes `HealthCheckRequest`. Throws if the bytes are not one. Returns an object, since grpc-js takes an
 * empty string for a missing message.
 */
export function decodeHealthRequest(bytes: Uint8Array): { readonly service: string } {
  return { service: decodeGet(bytes).trialName };
}

/** `HealthCheckResponse` that says SERVING: its field 1, a varint, is 1. */
export const SERVING = Buffer.of(1 << 3, 1);

/** Methods of the service that keeps a text beside each log; not every peer has it. */
export const HISTORY_METHODS = {
  keep: "/milepost.v1.History/Keep",
  read: "/milepost.v1.History/Read",
} as const;

/** Paths of the methods. */
export const METHODS = {
  report: "/api.v1.beta1.DBManager/ReportObservationLog",
  get: "/api.v1.beta1.DBManager/GetObservationLog",
  delete: "/api.v1.beta1.DBManager/DeleteObservationLog",
  health: "/grpc.health.v1.Health/Check",
} as const;
