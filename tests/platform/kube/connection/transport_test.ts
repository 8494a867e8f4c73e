/** Tests of the transport: TLS, credentials, streams and their abort. */
import assert from "node:assert/strict";
import type { RequestListener } from "node:http";
import type { RequestOptions } from "node:https";
import { createServer, type Server } from "node:https";
import { TLSSocket } from "node:tls";
import { createClient } from "../../../../platform/kube/connection/connected_client.ts";
import { ConfigurationError, TransportError } from "../../../../platform/kube/errors.ts";
import { connectionTo, loadKubeconfig } from "../../../../platform/kube/connection/kubeconfig.ts";
import { Connection } from "../../../../platform/kube/connection/connection.ts";
import { createTransport } from "../../../../platform/kube/connection/transport.ts";
import { type Certificate, makeCertificates } from "../certificates.ts";
import { WIDGET } from "../fake_api_server.ts";

const never = new AbortController().signal;

/** An HTTPS server that asks for a client certificate, while `test` runs. */
async function withServer(
  listener: RequestListener,
  test: (world: { url: string; caPem: string; client: Certificate }) => Promise<void>,
): Promise<void> {
  const { caPem, server: identity, client } = await makeCertificates();
  const server = createServer({
    cert: identity.certPem,
    key: identity.keyPem,
    ca: caPem,
    requestCert: true,
    rejectUnauthorized: false,
  }, listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await test({ url: `https://127.0.0.1:${portOf(server)}`, caPem, client });
  } finally {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  }
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}

/** Tells who asks. */
const whoAmI: RequestListener = (request, response) => {
  const { socket } = request;
  const subject = socket instanceof TLSSocket
    ? socket.getPeerCertificate()?.subject?.CN
    : undefined;
  const body = { subject, authorization: request.headers.authorization };
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify(body));
};

Deno.test("`createTransport()` trusts the authority of the connection and sends its token", () =>
  withServer(whoAmI, async ({ url, caPem }) => {
    const transport = createTransport(connectionTo({ server: url, caPem, token: "abc" }));
    const response = await transport.send({ method: "GET", path: "/" }, never);
    assert.deepEqual(await response.json(), { authorization: "Bearer abc" });
    transport.close();
  }));

Deno.test("`createTransport()` shows its client certificate", () =>
  withServer(whoAmI, async ({ url, caPem, client }) => {
    const connection = connectionTo({ server: url, caPem, clientCertificate: client });
    const transport = createTransport(connection);
    const response = await transport.send({ method: "GET", path: "/" }, never);
    assert.deepEqual(await response.json(), { subject: "tester" });
    transport.close();
  }));

Deno.test("`createTransport()` refuses a server that its authority did not sign", () =>
  withServer(whoAmI, async ({ url }) => {
    const { caPem } = await makeCertificates();
    const transport = createTransport(connectionTo({ server: url, caPem }));
    await assert.rejects(
      transport.send({ method: "GET", path: "/" }, never),
      (error) => error instanceof TransportError && /certificate/.test(error.message),
    );
    transport.close();
  }));

Deno.test("`createTransport()` reads files of a kubeconfig: authority, certificate, key", () =>
  withServer(whoAmI, async ({ url, caPem, client }) => {
    const folder = await Deno.makeTempDir();
    try {
      await Deno.writeTextFile(`${folder}/ca.crt`, caPem);
      await Deno.writeTextFile(`${folder}/me.crt`, client.certPem);
      await Deno.writeTextFile(`${folder}/me.key`, client.keyPem);
      const file = `${folder}/config`;
      await Deno.writeTextFile(
        file,
        JSON.stringify({
          "current-context": "x",
          contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
          clusters: [{ name: "c", cluster: { server: url, "certificate-authority": "ca.crt" } }],
          users: [{
            name: "u",
            user: { "client-certificate": "me.crt", "client-key": "me.key" },
          }],
        }),
      );
      const transport = createTransport(loadKubeconfig(file));
      const response = await transport.send({ method: "GET", path: "/" }, never);
      assert.deepEqual(await response.json(), { subject: "tester" });
      transport.close();
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  }));

Deno.test("`createTransport()` takes the token of a file, of a command, of a plug-in, and a password", async () => {
  const seen: (string | null)[] = [];
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) => {
      seen.push(request.headers.get("authorization"));
      return new Response("{}");
    },
  );
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/token`, "from-file\n");
    const credential = JSON.stringify({
      apiVersion: "client.authentication.k8s.io/v1",
      kind: "ExecCredential",
      status: { token: "from-command" },
    });
    const part = (value: unknown) => btoa(JSON.stringify(value)).replaceAll("=", "");
    const idToken = [part({ alg: "none" }), part({ exp: 4_102_444_800 }), "x"].join(".");
    const users = {
      file: { tokenFile: "token" },
      command: {
        exec: {
          apiVersion: "client.authentication.k8s.io/v1",
          command: "printf",
          args: ["%s", credential],
        },
      },
      plugIn: { "auth-provider": { name: "oidc", config: { "id-token": idToken } } },
      password: { username: "me", password: "secret" },
    };
    for (const [name, user] of Object.entries(users)) {
      const file = `${folder}/${name}`;
      await Deno.writeTextFile(
        file,
        JSON.stringify({
          "current-context": "x",
          contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
          clusters: [{ name: "c", cluster: { server: `http://127.0.0.1:${server.addr.port}` } }],
          users: [{ name: "u", user }],
        }),
      );
      const transport = createTransport(loadKubeconfig(file));
      await (await transport.send({ method: "GET", path: "/" }, never)).body?.cancel();
      transport.close();
    }
    assert.deepEqual(seen, [
      "Bearer from-file",
      "Bearer from-command",
      `Bearer ${idToken}`,
      `Basic ${btoa("me:secret")}`,
    ]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("`createTransport()` streams, and abort ends the stream on both sides", () => {
  let closed = () => {};
  const sawClose = new Promise<void>((resolve) => closed = resolve);
  return withServer((_request, response) => {
    response.on("close", closed);
    response.write("one\n");
  }, async ({ url, caPem }) => {
    const transport = createTransport(connectionTo({ server: url, caPem }));
    const stop = new AbortController();
    const response = await transport.send({ method: "GET", path: "/" }, stop.signal);
    const chunks: string[] = [];
    await assert.rejects(async () => {
      for await (const chunk of response.body ?? []) {
        chunks.push(new TextDecoder().decode(chunk));
        stop.abort(new Error("enough"));
      }
    });
    assert.deepEqual(chunks, ["one\n"]);
    await sawClose;
    transport.close();
  });
});

Deno.test("`createTransport()` asks once for credentials that take long, and abort ends the wait", async () => {
  const connection = connectionTo({ server: "https://127.0.0.1:1" });
  let asked = 0;
  connection.applyToHTTPSOptions = () => {
    asked++;
    return new Promise<void>(() => {});
  };
  const client = createClient({ connection });
  const key = { namespace: "ns", name: "a" };
  const stop = new AbortController();
  const calls = [
    client.get(WIDGET, key, { deadlineMs: 20 }),
    client.get(WIDGET, key, { signal: stop.signal }),
  ];
  stop.abort(new Error("enough"));
  const [late, aborted] = await Promise.allSettled(calls);
  assert.ok(late?.status === "rejected" && late.reason instanceof TransportError);
  assert.ok(aborted?.status === "rejected" && aborted.reason.message === "enough");
  assert.equal(asked, 1);
  client.close();
});

Deno.test("`createTransport()` says in one line that the connection was refused", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const server = `http://127.0.0.1:${listener.addr.port}`;
  listener.close();
  const client = createClient({ connection: connectionTo({ server }) });
  await assert.rejects(client.get(WIDGET, { namespace: "ns", name: "a" }), (error) => {
    assert.ok(error instanceof TransportError);
    assert.match(error.message, /^GET http:\/\/127\.0\.0\.1:\d+: .*refused/i);
    assert.doesNotMatch(error.message, /\n/);
    return true;
  });
  client.close();
});

Deno.test("`createTransport()` asks whether a request may leave when its credentials are there", () => {
  const asked: string[] = [];
  return withServer(
    (request, response) => void response.end(String(asked.push(request.url ?? ""))),
    async ({ url, caPem }) => {
      const ready = Promise.withResolvers<void>();
      class SlowConnection extends Connection {
        override async applyToHTTPSOptions(options: RequestOptions): Promise<void> {
          await ready.promise;
          await super.applyToHTTPSOptions(options);
        }
      }
      const { context, cluster, user } = connectionTo({ server: url, caPem });
      const transport = createTransport(new SlowConnection(context, cluster, user));
      let mayLeave = true;
      const send = (path: string) =>
        transport.send({
          method: "GET",
          path,
          mayLeave: () => {
            if (!mayLeave) throw new Error("too late");
          },
        }, never);
      const late = send("/late");
      mayLeave = false;
      ready.resolve();
      await assert.rejects(late, /^Error: too late$/);
      mayLeave = true;
      assert.equal(await (await send("/in-time")).text(), "1");
      assert.deepEqual(asked, ["/in-time"]);
      transport.close();
    },
  );
});

Deno.test("`createTransport()` opens a connection for a request that wants a new one", () =>
  withServer(
    ({ socket }, response) => void response.end(String(socket.remotePort)),
    async ({ url, caPem }) => {
      const transport = createTransport(connectionTo({ server: url, caPem }));
      const ports = async (newConnection: boolean) => {
        const seen = [];
        for (let count = 0; count < 3; count++) {
          const request = { method: "GET", path: "/", newConnection };
          seen.push(await (await transport.send(request, never)).text());
        }
        return new Set(seen);
      };
      const kept = await ports(false);
      const fresh = await ports(true);
      assert.deepEqual([kept.size, fresh.size], [1, 3]);
      assert.deepEqual(await ports(false), kept);
      transport.close();
    },
  ));

Deno.test("`createTransport()` refuses by name what it cannot do", () => {
  for (
    const [option, message] of [
      [{ skipTLSVerify: true }, /insecure-skip-tls-verify is not supported/],
      [{ tlsServerName: "other" }, /tls-server-name is not supported/],
    ] as const
  ) {
    const connection = connectionTo({ server: "https://127.0.0.1:1" });
    const { context, cluster } = connection;
    const other = new Connection(context, { ...cluster, ...option });
    assert.throws(
      () => createTransport(other),
      (error) => error instanceof ConfigurationError && message.test(error.message),
    );
  }
});

Deno.test("`stream()` returns a body that ends with its signal", () =>
  withServer((_request, response) => void response.write("log line\n"), async ({ url, caPem }) => {
    const client = createClient({ connection: connectionTo({ server: url, caPem }) });
    const stop = new AbortController();
    const { body } = await client.stream("/api/v1/namespaces/ns/pods/p/log?follow=true", {
      signal: stop.signal,
      idleMs: 60_000,
    });
    const parts = body[Symbol.asyncIterator]();
    assert.equal(new TextDecoder().decode((await parts.next()).value), "log line\n");
    stop.abort();
    await assert.rejects(parts.next());
    client.close();
  }));
