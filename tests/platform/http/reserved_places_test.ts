/** Tests of the places of a server that are reserved for some peers. */
import { connect, type Socket } from "node:net";
import { createAddressList } from "../../../platform/http/limits/address_list.ts";
import { createFairShare } from "../../../platform/http/limits/fair_share.ts";
import { connectionLimits, connectionsInAll } from "../../../platform/http/limits/server_limits.ts";
import { okResponse } from "../../../platform/http/json_responses.ts";
import { until } from "../../support/until.ts";
import { startTestServer } from "./test_server.ts";

const RESERVED = "127.0.0.1";
const BODY = 8_000;

/** Connects from an address and posts as much of a body of 8,000 bytes. */
function dial(port: number, localAddress: string, bytes: number) {
  let heard = "";
  const socket: Socket = connect({ port, host: "127.0.0.1", localAddress });
  socket.setEncoding("utf8");
  socket.on("error", () => {});
  socket.on("data", (chunk) => heard += String(chunk));
  if (bytes > 0) {
    socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${BODY}\r\n\r\n`);
    socket.write("x".repeat(bytes));
  }
  return { socket, heard: () => heard };
}

Deno.test("`startServer()` keeps connections and bytes of bodies that are reserved from all others", async () => {
  // The first 64 KiB of a body count three times.
  const bodyBudget = createFairShare(3 * 60_000);
  const server = await startTestServer({
    bodyBudget,
    times: { requestMs: 60_000 },
    connections: { ...connectionLimits(20, 10), silent: 20 },
    reserved: {
      includes: createAddressList([RESERVED]),
      connections: { ...connectionsInAll(2), silent: 10 },
      bodyBytes: 3 * 40_000,
    },
    handle: async (request) => okResponse({ length: (await request.readBody(BODY))?.length }),
  });
  const others = ["127.0.0.2", "127.0.0.3", "127.0.0.4"].flatMap((address) =>
    Array.from({ length: 10 }, () => dial(server.port, address, BODY - 1))
  );
  const open = () => others.filter(({ socket }) => !socket.destroyed).length;
  const refused = () => others.filter(({ heard }) => heard().startsWith("HTTP/1.1 503")).length;
  await until("the places of others are taken", () => open() <= 20 && refused() > 10);
  const own = dial(server.port, RESERVED, BODY);
  await until("an answer", () => own.heard().includes(`"length":${BODY}`));
  const second = dial(server.port, RESERVED, BODY);
  await until("an answer to the second", () => second.heard().includes(`"length":${BODY}`));
  // The reserved places are no more than they are.
  const third = dial(server.port, RESERVED, BODY);
  await until("the third is closed", () => third.socket.destroyed);
  for (const { socket } of [...others, own, second]) socket.destroy();
  await until("everything is given back", () => bodyBudget.used() === 0);
  await until("no connection is open", () => server.connections() === 0);
  await server.close(1000);
});
