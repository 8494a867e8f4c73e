/** HTTPS POST with a pinned certificate authority, a deadline and a bounded response. */
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

/** {@link CallHttps} over `fetch`, with a connection for each call. */
export const callHttps: CallHttps = ({ url, body, ca, timeoutMs }) => {
  const onDeadline = () => new Error("context deadline exceeded");
  const bounds = { clock: systemClock, deadlineMs: timeoutMs, onDeadline };
  return withDeadline(bounds, async (signal) => {
    using client = Deno.createHttpClient({ ...(ca !== undefined && { caCerts: [ca] }) });
    const headers = { "content-type": "application/json", "accept": "application/json" };
    const request = { method: "POST", body, headers, redirect: "manual", signal, client } as const;
    const response = await fetch(url, request).catch((error: unknown) => {
      throw error instanceof Error ? error.cause ?? error : error;
    });
    const parts: Uint8Array[] = [];
    let bytes = 0;
    for await (const part of response.body ?? []) {
      bytes += part.length;
      if (bytes > ANSWER_MAX_BYTES) {
        throw new Error(`the response is larger than ${ANSWER_MAX_BYTES} bytes`);
      }
      parts.push(part);
    }
    return { status: response.status, body: Buffer.concat(parts).toString("utf8") };
  });
};
