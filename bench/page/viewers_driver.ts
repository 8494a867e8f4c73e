/** Driver of viewers in a process of its own: opens their streams, and reads them until it is stopped. */
import { connect, type TLSSocket } from "node:tls";
import { z } from "zod";

const input = z.object({
  url: z.string(),
  token: z.string(),
  query: z.string(),
  viewers: z.number(),
}).parse(JSON.parse(Deno.env.get("VIEWERS") ?? ""));
const { hostname, port } = new URL(input.url);

/** Resolves when the stream has had its first event. */
function open(): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false });
    let head = "";
    socket.on("error", reject);
    // A stream that ends makes the figures better than they are.
    socket.on("close", () => {
      Deno.stderr.writeSync(new TextEncoder().encode(`a stream ended: ${head.slice(0, 300)}\n`));
      Deno.exit(1);
    });
    socket.on("data", (part) => {
      if (head.includes("event: jobs")) return;
      head += part;
      if (head.includes("event: jobs")) resolve(socket);
    });
    socket.write(
      `GET ${input.query} HTTP/1.1\r\nHost: localhost:${port}\r\nAuthorization: Bearer ${input.token}\r\n\r\n`,
    );
  });
}

const AT_ONCE = 20;
for (let opened = 0; opened < input.viewers; opened += AT_ONCE) {
  await Promise.all(Array.from({ length: AT_ONCE }, open));
}
Deno.stdout.writeSync(new TextEncoder().encode("open\n"));
await new Promise(() => setInterval(() => {}, 60_000));
