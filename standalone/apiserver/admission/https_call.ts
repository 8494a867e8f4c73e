/** HTTPS POST with a pinned certificate authority, a deadline and a bounded response. */
import { request as httpsRequest } from "node:https";
import { Buffer } from "node:buffer";
import { systemClock } from "../../../platform/base/clock.ts";
import { withDeadline } from "../../../platform/base/deadline.ts";

/** Largest response of a webhook, in bytes. */
const ANSWER_MAX_BYTES = 8 * 1024 * 1024;

/** A call. */
export interface HttpsCall {
  readonly url: string;
  readonly body: string;
  /** PEM of the certificate authorities to trust; those of the system by default. */
  readonly ca?: string;
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
export const callHttps: CallHttps = ({ url, body, ca, timeoutMs }) => {
  const onDeadline = () => new Error("context deadline exceeded");
  const bounds = { clock: systemClock, deadlineMs: timeoutMs, onDeadline };
  return withDeadline(bounds, (signal) => {
    const { promise, resolve, reject } = Promise.withResolvers<HttpsAnswer>();
    const fail = (error: Error) => {
      reject(error);
      // Closes the connection, even if the server continues to send.
      request.destroy();
    };
    const request = httpsRequest(url, {
      method: "POST",
      agent: false,
      signal,
      ...(ca !== undefined && { ca }),
      headers: {
        "content-type": "application/json",
        "accept": "application/json",
        "connection": "close",
        "content-length": Buffer.byteLength(body),
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
      response.on("end", () => {
        const text = Buffer.concat(chunks).toString("utf8");
        resolve({ status: response.statusCode ?? 0, body: text });
      });
    });
    request.on("error", fail);
    request.end(body);
    return promise;
  });
};
