/** Status endpoint over TLS that gives scripted answers and records the requests. */
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import { makeCertificates } from "../platform/kube/certificates.ts";

/**
 * How one request is answered; `reset` closes the connection without a word, `drip` sends a byte
 * now and then, and never the last.
 */
export type Reply = "reset" | "drip" | {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
};

/** One request as it came. */
export interface Heard {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: unknown;
  /** Monotonic, in milliseconds: when it was here whole, and when it was answered. */
  readonly arrivedMs: number;
  readonly answeredMs: number;
}

/** An endpoint with the files and variables that a pod would have. */
export interface ScriptedEndpoint {
  readonly heard: readonly Heard[];
  /** The three variables of the KEP. */
  readonly env: Readonly<Record<string, string>>;
  /** Trusts an authority that has not signed the endpoint's certificate. */
  trustAnotherAuthority(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** The token that the file holds before request `number`, from 1. */
export const tokenBefore = (number: number) => `token.number.${number}`;

async function bodyOf(message: IncomingMessage): Promise<unknown> {
  let text = "";
  for await (const part of message.setEncoding("utf8")) text += part;
  return JSON.parse(text);
}

function drip(response: ServerResponse): void {
  response.writeHead(200, { "Content-Type": "application/json" });
  const timer = setInterval(() => response.write(" "), 500);
  response.once("close", () => clearInterval(timer));
}

/**
 * Starts an endpoint that answers one reply after the other, the last one again and again. After each
 * request another token stands in the token's file.
 */
export async function scriptedEndpoint(replies: readonly Reply[]): Promise<ScriptedEndpoint> {
  const folder = await Deno.makeTempDir();
  const [tokenFile, caFile] = [`${folder}/token`, `${folder}/ca.crt`];
  const { caPem, server: tls } = await makeCertificates();
  await Deno.writeTextFile(caFile, caPem);
  await Deno.writeTextFile(tokenFile, `${tokenBefore(1)}\n`);
  const heard: Heard[] = [];

  async function answer(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bodyOf(message);
    const arrivedMs = performance.now();
    const reply = replies[Math.min(heard.length, replies.length - 1)] ?? "reset";
    await Deno.writeTextFile(tokenFile, `${tokenBefore(heard.length + 2)}\n`);
    const { authorization, "content-type": contentType } = message.headers;
    heard.push({
      method: message.method ?? "",
      path: message.url ?? "",
      headers: { authorization, contentType },
      body,
      arrivedMs,
      answeredMs: performance.now(),
    });
    if (reply === "reset") return void message.socket.destroy();
    if (reply === "drip") return drip(response);
    response.writeHead(reply.status, { "Content-Type": "application/json", ...reply.headers });
    response.end(JSON.stringify(reply.body ?? {}));
  }

  const server = createServer({ cert: tls.certPem, key: tls.keyPem }, (message, response) => {
    answer(message, response).catch(() => message.socket.destroy());
  });
  server.on("tlsClientError", () => {});
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("it listens on no port");
  return {
    heard,
    env: {
      KUBEFLOW_TRAINER_STATUS_URL: `https://127.0.0.1:${address.port}/the/path/status`,
      KUBEFLOW_TRAINER_STATUS_CA_CERT: caFile,
      KUBEFLOW_TRAINER_STATUS_TOKEN: tokenFile,
      KUBEFLOW_TRAINER_STATUS_CONTAINER: "node",
    },
    async trustAnotherAuthority() {
      await Deno.writeTextFile(caFile, (await makeCertificates()).caPem);
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      await Deno.remove(folder, { recursive: true });
    },
  };
}
