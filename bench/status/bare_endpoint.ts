/**
 * Bare endpoint: an HTTPS server that parses the body as JSON and answers, the least that an endpoint
 * of this server class does. A process of its own: `bare_endpoint.ts PORT CERTIFICATE_FILE KEY_FILE`.
 */
import { createServer, type ServerOptions } from "node:https";
import type { IncomingMessage } from "node:http";
import { Buffer } from "node:buffer";

const [port = "0", certFile = "", keyFile = ""] = Deno.args;

/** As the status endpoint has them. */
const options: ServerOptions = {
  cert: Deno.readTextFileSync(certFile),
  key: Deno.readTextFileSync(keyFile),
  minVersion: "TLSv1.2",
  keepAliveTimeout: 75_000,
};

function bodyOf(message: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    message.on("data", (chunk: Buffer) => chunks.push(chunk));
    message.on("end", () => resolve(Buffer.concat(chunks).toString()));
    message.on("error", reject);
  });
}

const server = createServer(options);
server.on("request", async (message, response) => {
  let text: string;
  try {
    text = await bodyOf(message);
    JSON.parse(text);
  } catch {
    response.writeHead(422).end();
    return;
  }
  const length = Buffer.byteLength(text);
  response.writeHead(200, { "Content-Type": "application/json", "Content-Length": length });
  response.end(text);
});
server.on("clientError", (_error, socket) => socket.destroy());
server.listen(Number(port), "127.0.0.1");
