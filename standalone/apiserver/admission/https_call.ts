/** HTTPS POST with a pinned certificate authority, a deadline and a bounded response. */
import { request as httpsRequest } from "node:https";
import { Buffer } from "node:buffer";
import { after, systemClock } from "../../../platform/base/clock.ts";

/** Largest response of a webhook, in bytes. */
const ANSWER_MAX_BYTES = 8 * 1024 * 1024;

/** A call. */
export interface HttpsCall {
  readonly url: string;
  readonly body: string;
  /** PEM of the certificate authorities to trust; those of the system by default. */
  readonly ca?: string;
  /** Name that the certificate must have; the URL's host by default. */
  readonly serverName?: string;
  readonly timeoutMs: number;
}

/** A response. */
export interface HttpsAnswer {
  readonly status: number;
  readonly body: string;
}

/** Makes a call. Rejects with an Error that says why there is no response. */
export type CallHttps = (call: HttpsCall) => Promise<HttpsAnswer>;

/** {@link CallHttps} over Node's client, with a connection for each call. */
export const callHttps: CallHttps = (call) => {
  const { promise, resolve, reject } = Promise.withResolvers<HttpsAnswer>();
  const controller = new AbortController();
  const late = () => controller.abort(new Error("context deadline exceeded"));
  const cancel = after(systemClock, call.timeoutMs, late);
  const fail = (error: Error) => {
    const { reason } = controller.signal;
    reject(reason instanceof Error ? reason : error);
    // Closes the connection, even if the server continues to send.
    request.destroy();
  };
  const request = httpsRequest(call.url, {
    method: "POST",
    agent: false,
    signal: controller.signal,
    ...(call.ca !== undefined && { ca: call.ca }),
    ...(call.serverName !== undefined && { servername: call.serverName }),
    headers: {
      "content-type": "application/json",
      "accept": "application/json",
      "connection": "close",
      "content-length": Buffer.byteLength(call.body),
    },
  }, (response) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    response.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > ANSWER_MAX_BYTES) {
        fail(new Error(`the response is larger than ${ANSWER_MAX_BYTES} bytes`));
      } else chunks.push(chunk);
    });
    response.on("error", fail);
    response.on(
      "end",
      () =>
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString("utf8") }),
    );
  });
  request.on("error", fail);
  request.end(call.body);
  return promise.finally(cancel);
};
