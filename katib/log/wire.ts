/**
 * Protobuf messages of Katib's DBManager service (kubeflow/katib: pkg/apis/manager/v1beta1/api.proto) and of
 * gRPC's health check.
 */
import { Buffer } from "node:buffer";
import protobuf from "protobufjs/minimal.js";

const { Reader, Writer } = protobuf;
type Reader = protobuf.Reader;
type Writer = protobuf.Writer;

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

/** Returns the tag of a length-delimited field: a string, bytes or a message. */
const tag = (field: number) => (field << 3) | 2;
const VARINT = 0;

function putText(writer: Writer, field: number, text: string): void {
  if (text !== "") writer.uint32(tag(field)).string(text);
}

/** Writes a message in a field, also an empty one. */
function putMessage(writer: Writer, field: number, fill: () => void): void {
  writer.uint32(tag(field)).fork();
  fill();
  writer.ldelim();
}

/**
 * Reads a message. `take` is called with the number of each length-delimited field, and reads it or returns
 * false to skip it. Throws if the bytes are not a message.
 */
function readMessage(
  reader: Reader,
  end: number,
  take: (field: number) => boolean,
): void {
  while (reader.pos < end) {
    const head = reader.uint32();
    if ((head & 7) !== 2 || !take(head >>> 3)) reader.skipType(head & 7);
  }
}

/** Reads a message in a field. */
function readInner(reader: Reader, take: (field: number) => boolean): void {
  const length = reader.uint32();
  readMessage(reader, reader.pos + length, take);
}

const finish = (writer: Writer): Buffer => Buffer.from(writer.finish());

function putLog(writer: Writer, field: number, rows: readonly WireRow[]): void {
  putMessage(writer, field, () => {
    for (const { time, metric } of rows) {
      putMessage(writer, 1, () => {
        putText(writer, 1, time);
        if (metric === undefined) return;
        putMessage(writer, 2, () => {
          putText(writer, 1, metric.name);
          putText(writer, 2, metric.value);
        });
      });
    }
  });
}

function readMetric(reader: Reader): { name: string; value: string } {
  const metric = { name: "", value: "" };
  readInner(reader, (field) => {
    if (field === 1) metric.name = reader.string();
    else if (field === 2) metric.value = reader.string();
    else return false;
    return true;
  });
  return metric;
}

function readRow(reader: Reader): WireRow {
  let time = "";
  let metric: WireRow["metric"];
  readInner(reader, (field) => {
    if (field === 1) time = reader.string();
    else if (field === 2) metric = readMetric(reader);
    else return false;
    return true;
  });
  return { time, metric };
}

function readLog(reader: Reader, into: WireRow[]): void {
  readInner(reader, (field) => {
    if (field !== 1) return false;
    into.push(readRow(reader));
    return true;
  });
}

/** Encodes {@link ReportRequest}. */
export function encodeReport({ trialName, rows }: ReportRequest): Buffer {
  const writer = Writer.create();
  putText(writer, 1, trialName);
  putLog(writer, 2, rows);
  return finish(writer);
}

/** Decodes {@link ReportRequest}. Throws if the bytes are not one. */
export function decodeReport(bytes: Uint8Array): ReportRequest {
  const reader = Reader.create(bytes);
  let trialName = "";
  const rows: WireRow[] = [];
  readMessage(reader, reader.len, (field) => {
    if (field === 1) trialName = reader.string();
    else if (field === 2) readLog(reader, rows);
    else return false;
    return true;
  });
  return { trialName, rows };
}

/** Encodes {@link GetRequest}; `DeleteObservationLogRequest` is one with only the name. */
export function encodeGet(request: GetRequest): Buffer {
  const writer = Writer.create();
  putText(writer, 1, request.trialName);
  putText(writer, 2, request.metricName);
  putText(writer, 3, request.startTime);
  putText(writer, 4, request.endTime);
  return finish(writer);
}

/** Decodes {@link GetRequest}. Throws if the bytes are not one. */
export function decodeGet(bytes: Uint8Array): GetRequest {
  const reader = Reader.create(bytes);
  const texts = ["", "", "", "", ""];
  readMessage(reader, reader.len, (field) => {
    if (field < 1 || field > 4) return false;
    texts[field] = reader.string();
    return true;
  });
  const [, trialName = "", metricName = "", startTime = "", endTime = ""] = texts;
  return { trialName, metricName, startTime, endTime };
}

/** Encodes `GetObservationLogReply`. */
export function encodeLogReply(rows: readonly WireRow[]): Buffer {
  const writer = Writer.create();
  putLog(writer, 1, rows);
  return finish(writer);
}

/** Decodes `GetObservationLogReply`. Throws if the bytes are not one. */
export function decodeLogReply(bytes: Uint8Array): WireRow[] {
  const reader = Reader.create(bytes);
  const rows: WireRow[] = [];
  readMessage(reader, reader.len, (field) => {
    if (field !== 1) return false;
    readLog(reader, rows);
    return true;
  });
  return rows;
}

/** A reply without content. */
export const EMPTY = Buffer.alloc(0);

/**
 * Decodes `HealthCheckRequest`. Throws if the bytes are not one. Returns an object, since grpc-js takes an
 * empty string for a missing message.
 */
export function decodeHealthRequest(bytes: Uint8Array): { readonly service: string } {
  return { service: decodeGet(bytes).trialName };
}

/** `HealthCheckResponse` that says SERVING. */
export const SERVING = finish(Writer.create().uint32((1 << 3) | VARINT).int32(1));

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
