/** HTTPS POSTs with pinned certificate authorities, a deadline and a bounded response, over connections that are kept. */
import { Buffer } from "node:buffer";
import { createBoundedCache } from "../../../platform/base/bounded_cache.ts";
import { systemClock } from "../../../platform/base/clock.ts";
import { withDeadline } from "../../../platform/base/deadline.ts";
import { createSemaphore } from "../../../platform/base/semaphore.ts";

/** Largest response of a webhook, in bytes. */
const ANSWER_MAX_BYTES = 8 * 1024 * 1024;
/** Calls at a time, each over a connection of its own: a server under load closes the new ones of a caller with many. */
const AT_ONCE = 64;
/** Authorities whose connections are kept: a webhook renews its own now and then. */
const MAX_AUTHORITIES = 16;
/** Time for which an idle connection is kept, in milliseconds: less than servers keep it, which would close it under a call. */
const IDLE_MS = 15_000;

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

/** Reads a response. Throws an Error if it is too large. */
async function textOf({ body }: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body ?? []) {
    bytes += part.length;
    if (bytes > ANSWER_MAX_BYTES) {
      throw new Error(`the response is larger than ${ANSWER_MAX_BYTES} bytes`);
    }
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}

/** Creates a {@link CallHttps} over `fetch`. */
export function createHttpsCalls() {
  const clients = createBoundedCache<Deno.HttpClient>(
    MAX_AUTHORITIES,
    undefined,
    (client) => client.close(),
  );
  const places = createSemaphore(AT_ONCE);

  function clientFor(ca: string | undefined): Deno.HttpClient {
    const key = ca ?? "";
    const known = clients.get(key);
    if (known !== undefined) return known;
    const caCerts = ca === undefined ? undefined : [ca];
    const client = Deno.createHttpClient({ caCerts, http2: false, poolIdleTimeout: IDLE_MS });
    clients.set(key, client);
    return client;
  }

  async function post({ url, body, ca }: HttpsCall, signal: AbortSignal): Promise<HttpsAnswer> {
    const client = clientFor(ca);
    const headers = { "content-type": "application/json", "accept": "application/json" };
    const request = { method: "POST", body, headers, redirect: "manual", signal, client } as const;
    const response = await fetch(url, request).catch((error: unknown) => {
      throw error instanceof Error ? error.cause ?? error : error;
    });
    return { status: response.status, body: await textOf(response) };
  }

  const call: CallHttps = (asked) => {
    const bounds = {
      clock: systemClock,
      deadlineMs: asked.timeoutMs,
      onDeadline: () => new Error("context deadline exceeded"),
    };
    return withDeadline(bounds, (signal) => places.run(() => post(asked, signal), signal));
  };
  return {
    call,
    /** Closes the connections. */
    close: (): void => clients.clear(),
  };
}
