/** Tests of the load generator itself, which is built with Go as the control plane is. */
import assert from "node:assert/strict";
import { createServer } from "node:https";
import type { IncomingMessage, ServerResponse } from "node:http";
import { buildGenerator, runLoad, runLoads } from "../../bench/generator/generator.ts";
import { runHolds } from "../../bench/generator/holds.ts";
import { freePort } from "../support/free_port.ts";
import { until } from "../support/until.ts";
import { createAuthority } from "./control_plane/certificates.ts";

type Answer = (message: IncomingMessage, response: ServerResponse, body: string) => void;

/** Runs `work` with an HTTPS server whose certificate is of a CA of its own. */
async function withServer(
  answer: Answer,
  work: (at: { url: string; port: number; caPem: string }) => Promise<void>,
): Promise<void> {
  const ca = await createAuthority("generator-test");
  const server = createServer(await ca.server("server", ["127.0.0.1"]), (message, response) => {
    let body = "";
    message.on("data", (chunk) => body += chunk);
    message.on("error", () => {});
    message.on("end", () => answer(message, response, body));
  });
  server.on("clientError", (_error, socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  try {
    await work({ url: `https://127.0.0.1:${port}/path`, port, caPem: ca.cert });
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

const ok: Answer = (_message, response) => void response.end("{}");

Deno.test("runLoad() sends a count of whole pushes over connections that are kept", async () => {
  const bodies: string[] = [];
  const seen = new Set<string>();
  await withServer((message, response, body) => {
    bodies.push(body);
    seen.add(`${message.method} ${message.url} ${message.headers.authorization}`);
    response.end("{}");
  }, async ({ url, caPem }) => {
    const targets = [{ url, token: "mine" }];
    const load = await runLoad({ name: "a", targets, caPem, connections: 4, count: 200 });
    assert.deepEqual([load.sent, load.ok, load.byStatus], [200, 200, { 200: 200 }]);
    assert.equal(load.handshakes, 4);
    assert.equal(load.latency.count, 200);
    assert.ok(load.latency.p50 <= load.latency.p99 && load.latency.p99 <= load.latency.max);
  });
  assert.deepEqual([...seen], ["POST /path Bearer mine"]);
  const parsed = bodies.map((body) => JSON.parse(body).trainerStatus);
  assert.equal(new Set(parsed.map((it) => it.progressPercentage)).size, 100);
  assert.ok(parsed.every((it) => !Number.isNaN(Date.parse(it.lastUpdatedTime))));
});

Deno.test("runLoad() can make a handshake for each push, from all its addresses", async () => {
  const peers = new Set<string | undefined>();
  await withServer((message, response) => {
    peers.add(message.socket.remoteAddress);
    response.end("{}");
  }, async ({ url, caPem }) => {
    const load = await runLoad({
      ...{ name: "a", targets: [{ url }], caPem, connections: 3, count: 30 },
      mode: "connection-per-push",
      sources: ["127.0.0.2", "127.0.0.3"],
    });
    assert.deepEqual([load.ok, load.handshakes, load.resumed], [30, 30, 0]);
  });
  assert.deepEqual([...peers].sort(), ["127.0.0.2", "127.0.0.3"]);
});

Deno.test("runLoads() forges tokens that all differ, beside an honest plan with results of its own", async () => {
  const tokens: string[] = [];
  await withServer((message, response) => {
    const [, token = ""] = (message.headers.authorization ?? "").split(" ");
    if (token !== "a.b.c") tokens.push(token);
    response.writeHead(token === "a.b.c" ? 200 : 401).end("why");
  }, async ({ url, caPem }) => {
    const plan = { targets: [{ url, token: "a.b.c" }], caPem, connections: 2, count: 40 };
    const { results: [honest, attacker] } = await runLoads([
      { name: "honest", ...plan },
      { name: "attacker", ...plan, forged: { kind: "random-signature", differ: true } },
    ]);
    assert.deepEqual(honest?.byStatus, { 200: 40 });
    assert.deepEqual(attacker?.byStatus, { 401: 40 });
    assert.equal(attacker?.examples[0], "why");
  });
  assert.equal(new Set(tokens).size, 40);
  assert.ok(tokens.every((token) => token.split(".").length === 3));
});

Deno.test("runLoad() counts what is refused, too late or cut off, each by its kind", async () => {
  let turn = 0;
  await withServer((message, response) => {
    const which = turn++ % 3;
    if (which === 0) response.writeHead(429).end();
    else if (which === 1) message.socket.destroy();
  }, async ({ url, caPem }) => {
    const load = await runLoad({
      ...{ name: "a", targets: [{ url }], caPem, connections: 1, count: 3, timeoutMs: 500 },
      mode: "connection-per-push",
    });
    assert.deepEqual(load.byStatus, { 429: 1 });
    assert.equal(load.timeouts, 1);
    assert.equal(load.refused, 2);
    assert.equal(load.ok, 0);
  });
  const nobody = `https://127.0.0.1:${freePort()}/`;
  const { cert } = await createAuthority("nobody");
  const plan = { name: "a", targets: [{ url: nobody }], caPem: cert, connections: 1, count: 2 };
  assert.deepEqual((await runLoad(plan)).errors, { refused: 2 });
});

Deno.test("runLoad() trusts only the CA that it is given", () =>
  withServer(ok, async ({ url }) => {
    const { cert } = await createAuthority("another");
    const plan = { name: "a", targets: [{ url }], caPem: cert, connections: 1, count: 2 };
    assert.deepEqual((await runLoad(plan)).errors, { tls: 2 });
  }));

Deno.test("runLoad() replaces a kept connection that the server has closed, without a failure", () =>
  withServer((message, response) => {
    response.end("{}", () => message.socket.end());
  }, async ({ url, caPem }) => {
    const plan = { name: "a", targets: [{ url }], caPem, connections: 1, count: 20 };
    const load = await runLoad(plan);
    assert.deepEqual([load.ok, load.errors], [20, {}]);
  }));

const WRONG: Record<string, { more: Record<string, unknown>; says: RegExp }> = {
  "that never ends": { more: { count: 0 }, says: /needs durationMs or count/ },
  "without connections": { more: { connections: 0 }, says: /connections must be from 1/ },
  "without targets": { more: { targets: [] }, says: /no targets/ },
};
for (const [sentence, { more, says }] of Object.entries(WRONG)) {
  Deno.test(`runLoad() refuses a plan ${sentence}`, async () => {
    const targets = [{ url: "https://127.0.0.1:1/" }];
    const plan = { name: "a", targets, connections: 1, count: 1, ...more };
    await assert.rejects(runLoad(plan), says);
  });
}

Deno.test("the balancer hands connections to its backends in turns", async () => {
  const counts = [0, 0];
  const count = (which: number): Answer => (_message, response) => {
    counts[which] = (counts[which] ?? 0) + 1;
    response.end("{}");
  };
  await withServer(
    count(0),
    ({ port: first }) =>
      withServer(count(1), async ({ port: second, caPem }) => {
        const port = freePort();
        const balancer = new Deno.Command(await buildGenerator(), {
          args: ["balance", ...[port, first, second].map((it) => `127.0.0.1:${it}`)],
          stdout: "null",
        }).spawn();
        try {
          await until("the balancer", async () => {
            (await Deno.connect({ hostname: "127.0.0.1", port })).close();
            return true;
          });
          const targets = [{ url: `https://127.0.0.1:${port}/` }];
          const plan = { name: "a", targets, caPem, connections: 1, count: 10 };
          // One of the backends has a certificate of another CA.
          const load = await runLoad({ ...plan, mode: "connection-per-push" });
          assert.deepEqual([load.ok, load.errors], [5, { tls: 5 }]);
        } finally {
          balancer.kill();
          await balancer.status;
        }
      }),
  );
  assert.deepEqual(counts, [0, 5]);
});

Deno.test("runHolds() opens connections again that the server closes, and counts what they were told", async () => {
  await withServer(ok, async ({ port }) => {
    const common = { address: `127.0.0.1:${port}`, sources: ["127.0.0.7"], rate: 50, tls: true };
    const head = "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 10\r\n\r\n";
    const holds = [
      { ...common, name: "one byte short", count: 5, text: head, more: 9 },
      { ...common, name: "whole", count: 5, text: head, more: 10 },
    ];
    // On a busy machine two seconds may be too short for six handshakes.
    for (const durationMs of [2_000, 8_000, 30_000]) {
      const [held, whole] = await runHolds(holds, durationMs);
      assert.deepEqual(held?.answers, {});
      assert((held?.most ?? 0) <= 5 && held?.opened === 5, JSON.stringify(held));
      if (held.most === 5 && (whole?.answers["200"] ?? 0) > 5) return;
    }
    assert.fail("thirty seconds were too short for a connection to be opened again");
  });
});
