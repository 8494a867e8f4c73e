/** Client of the page's server: requests as the page makes them, and as others may. */
import { Agent, request as httpRequest } from "node:http";
import { Agent as TlsAgent, request as httpsRequest } from "node:https";

/** A request; what is undefined in `headers` is not sent. */
export interface PageRequest {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: string;
}

/** An answer, read to its end. */
export interface PageAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** Sends a request as it is written: `fetch` would set Host and Origin by itself. */
export function sendTo(
  base: string,
  { method = "GET", path, headers = {}, body }: PageRequest,
  ca?: string,
): Promise<PageAnswer> {
  const { hostname, port, protocol } = new URL(base);
  const sent = Object.fromEntries(
    Object.entries(headers).filter(([, value]) => value !== undefined),
  );
  const options = { hostname, port, method, path, headers: sent };
  return new Promise((resolve, reject) => {
    const request = protocol === "https:"
      ? httpsRequest({
        ...options,
        ca,
        // Node takes the name to check from the header Host, which a test may make up.
        checkServerIdentity: () => undefined,
        agent: new TlsAgent({ keepAlive: false }),
      })
      : httpRequest({ ...options, agent: new Agent({ keepAlive: false }) });
    request.on("error", reject);
    request.on("response", (response) => {
      const parts: Uint8Array[] = [];
      response.on("data", (part: Uint8Array) => parts.push(part));
      response.on("error", reject);
      response.on("end", () => {
        const text = parts.map((it) => new TextDecoder().decode(it, { stream: true })).join("");
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
      });
    });
    request.end(body);
  });
}

/** The headers of a change by the page. */
export const CHANGE_HEADERS = { "Content-Type": "application/json", "X-Milepost": "1" };

/** A session, as the page has it. */
export interface PageSession {
  readonly url: string;
  readonly key: string;
  get(path: string): Promise<PageAnswer>;
  post(path: string, body?: unknown): Promise<PageAnswer>;
  /** Reads a streamed answer until its text has what is looked for, and leaves. */
  streamUntil(path: string, isThere: (text: string) => boolean): Promise<string>;
}

/** Exchanges the code of an address for a session. */
export async function openSession(address: string): Promise<PageSession> {
  const { origin, hash } = new URL(address);
  const code = hash.replace(/^#code=/, "");
  const opened = await sendTo(origin, {
    method: "POST",
    path: "/session",
    headers: CHANGE_HEADERS,
    body: JSON.stringify({ code }),
  });
  if (opened.status !== 200) throw new Error(`no session: ${opened.status} ${opened.text}`);
  const key = String(JSON.parse(opened.text).session);
  const Authorization = `Bearer ${key}`;
  return {
    url: origin,
    key,
    get: (path) => sendTo(origin, { path, headers: { Authorization } }),
    post: (path, body = {}) =>
      sendTo(origin, {
        method: "POST",
        path,
        headers: { ...CHANGE_HEADERS, Authorization },
        body: JSON.stringify(body),
      }),
    async streamUntil(path, isThere) {
      const leave = new AbortController();
      const signal = AbortSignal.any([leave.signal, AbortSignal.timeout(30_000)]);
      const response = await fetch(`${origin}${path}`, { headers: { Authorization }, signal });
      let text = "";
      try {
        for await (const part of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
          text += part;
          if (isThere(text)) return text;
        }
      } finally {
        leave.abort();
      }
      throw new Error(`the stream ended (${response.status}) before that was there: ${text}`);
    },
  };
}
