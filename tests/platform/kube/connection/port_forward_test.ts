/** Tests of the port-forward, against a server that speaks the API's framing over a WebSocket. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { connectionTo } from "../../../../platform/kube/connection/kubeconfig.ts";
import {
  type PodPort,
  startPortForward,
} from "../../../../platform/kube/connection/port_forward.ts";
import { createTransport } from "../../../../platform/kube/connection/transport.ts";
import { until } from "../../../support/until.ts";

const TARGET: PodPort = { namespace: "there", pod: "the-pod", port: 8082 };
const [DATA, ERROR] = [0, 1];
/** The port, in the first message of each channel. */
const HEADER = [8082 & 0xff, 8082 >> 8];

/** The pod's end of a connection. */
interface PodEnd {
  readonly socket: WebSocket;
  /** What came. */
  readonly received: number[];
  send(channel: number, bytes: Uint8Array | number[]): void;
}

interface World {
  close(): Promise<void>;
  readonly ends: PodEnd[];
  readonly requests: { readonly url: string; readonly token: string | null }[];
  readonly failures: string[];
  /** Connects, and asks for a tunnel; the answer is the test's to read. */
  connect(head?: string): Promise<Deno.TcpConn>;
}

function podEnd(socket: WebSocket): PodEnd {
  socket.binaryType = "arraybuffer";
  const end: PodEnd = {
    socket,
    received: [],
    send: (channel, bytes) => socket.send(Buffer.concat([Buffer.of(channel), Buffer.from(bytes)])),
  };
  socket.onopen = () => {
    end.send(DATA, HEADER);
    end.send(ERROR, HEADER);
  };
  socket.onmessage = ({ data }) => {
    const [channel, ...bytes] = new Uint8Array(data);
    assert.equal(channel, DATA);
    end.received.push(...bytes);
  };
  return end;
}

async function withForward(
  work: (world: World) => Promise<void>,
  { answer = () => undefined, target = TARGET, maxWaiting }: {
    readonly answer?: () => Response | undefined;
    readonly target?: PodPort | undefined | "none";
    readonly maxWaiting?: number;
  } = {},
): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const [ends, requests, failures]: [PodEnd[], World["requests"], string[]] = [[], [], []];
  const serving = { port: 0, hostname: "127.0.0.1", onListen: () => {} };
  const server = Deno.serve(serving, (request) => {
    const { pathname, search } = new URL(request.url);
    requests.push({ url: pathname + search, token: request.headers.get("authorization") });
    const refusal = answer();
    if (refusal !== undefined) return refusal;
    const { socket, response } = Deno.upgradeWebSocket(request, { protocol: "v4.channel.k8s.io" });
    ends.push(podEnd(socket));
    return response;
  });
  stack.defer(() => server.shutdown());
  const transport = createTransport(
    connectionTo({ server: `http://127.0.0.1:${server.addr.port}`, token: "abc" }),
  );
  stack.defer(() => transport.close());
  const forward = startPortForward({
    transport,
    target: () => target === "none" ? undefined : target,
    onFailure: ({ pod }, error) => failures.push(`${pod}: ${error}`),
    ...(maxWaiting !== undefined && { maxWaiting }),
  });
  let closing: Promise<void> | undefined;
  const close = () => closing ??= forward.close();
  stack.defer(close);
  const conns: Deno.TcpConn[] = [];
  stack.defer(() => {
    for (const conn of conns) {
      try {
        conn.close();
      } catch {
        // The test has closed it.
      }
    }
  });
  await work({
    close,
    ends,
    requests,
    failures,
    async connect(head = "CONNECT the-server:1 HTTP/1.1\r\n\r\n") {
      const { hostname, port } = new URL(forward.proxyUrl);
      const conn = await Deno.connect({ hostname, port: Number(port) });
      conns.push(conn);
      await conn.write(new TextEncoder().encode(head));
      return conn;
    },
  });
}

/** Reads until that many bytes are there. */
async function read(conn: Deno.Conn, count: number): Promise<Uint8Array> {
  const all = new Uint8Array(count);
  for (let at = 0; at < count;) {
    const length = await conn.read(all.subarray(at));
    assert.ok(length !== null, `ended after ${at} bytes`);
    at += length;
  }
  return all;
}

/** Whether the other side has closed it; what is left to read is dropped. */
async function isEnded(conn: Deno.Conn): Promise<boolean> {
  const bytes = new Uint8Array(65_536);
  try {
    while (await conn.read(bytes) !== null);
  } catch (error) {
    if (!(error instanceof Deno.errors.ConnectionReset)) throw error;
  }
  return true;
}

/** A connection whose tunnel is there. */
async function tunnel(world: World): Promise<Deno.TcpConn> {
  const conn = await world.connect();
  const answer = "HTTP/1.1 200 Connection established\r\n\r\n";
  assert.equal(new TextDecoder().decode(await read(conn, answer.length)), answer);
  return conn;
}

const endOf = ({ ends }: World, index = 0) => until("the pod is reached", () => ends[index]);

Deno.test("a port-forward carries bytes both ways, as the user, to the pod's port", () =>
  withForward(async (world) => {
    const conn = await tunnel(world);
    await conn.write(new Uint8Array([1, 2, 3]));
    const end = await endOf(world);
    await until("what was sent arrives", () => end.received.length === 3);
    assert.deepEqual(end.received, [1, 2, 3]);
    const large = Uint8Array.from({ length: 1 << 20 }, (_, index) => index % 251);
    for (let at = 0; at < large.length; at += 65_536) {
      end.send(DATA, large.subarray(at, at + 65_536));
    }
    assert.ok(Buffer.from(large).equals(await read(conn, large.length)));
    assert.deepEqual(world.requests, [{
      url: "/api/v1/namespaces/there/pods/the-pod/portforward?ports=8082",
      token: "Bearer abc",
    }]);
    conn.close();
    await until("the pod's end is closed", () => end.socket.readyState === WebSocket.CLOSED);
    assert.deepEqual(world.failures, []);
  }));

Deno.test("connections of a port-forward do not mix, and the pod may end one", () =>
  withForward(async (world) => {
    const [first, second] = [await tunnel(world), await tunnel(world)];
    await first.write(new Uint8Array([1]));
    await second.write(new Uint8Array([2]));
    await until("both are there", () => world.ends.every(({ received }) => received.length === 1));
    const end = await until(
      "the first",
      () => world.ends.find(({ received }) => received[0] === 1),
    );
    end.send(DATA, [7, 8]);
    end.socket.close();
    assert.deepEqual([...await read(first, 2)], [7, 8]);
    assert.ok(await isEnded(first));
    const other = await until("the other", () => world.ends.find((it) => it !== end));
    other.send(DATA, [9]);
    assert.deepEqual([...await read(second, 1)], [9]);
    assert.deepEqual(world.failures, []);
  }));

Deno.test("what the pod's end says is wrong ends the connection, and is told", () =>
  withForward(async (world) => {
    const conn = await tunnel(world);
    const end = await endOf(world);
    await until("it is open", () => end.socket.readyState === WebSocket.OPEN);
    end.send(ERROR, [...new TextEncoder().encode("connection refused")]);
    assert.ok(await isEnded(conn));
    await until("it is told", () => world.failures.length === 1);
    assert.match(world.failures[0] ?? "", /^the-pod: TransportError: connection refused$/);
  }));

Deno.test("a WebSocket that the API server refuses ends the connection, and is told without the token", () =>
  withForward(async (world) => {
    assert.ok(await isEnded(await world.connect()));
    await until("it is told", () => world.failures.length === 1);
    assert.match(world.failures[0] ?? "", /^the-pod: TransportError: no WebSocket: .*403/);
    assert.ok(!world.failures.join().includes("abc"));
  }, { answer: () => new Response("no", { status: 403 }) }));

Deno.test("without a target a connection is closed, and no request is made", () =>
  withForward(async (world) => {
    assert.ok(await isEnded(await world.connect()));
    assert.deepEqual([world.requests, world.failures], [[], []]);
  }, { target: "none" }));

Deno.test("what asks for no tunnel is closed, and leads to no pod", () =>
  withForward(async (world) => {
    const heads = ["GET / HTTP/1.1\r\n\r\n", "x".repeat(9_000), "CONNECT a:1 HTTP/1.1\r\n\r\nmore"];
    for (const head of heads) assert.ok(await isEnded(await world.connect(head)), head);
    assert.deepEqual([world.requests, world.failures], [[], []]);
  }));

Deno.test("a reader that is too slow loses its connection, not the memory of all", () =>
  withForward(async (world) => {
    await tunnel(world);
    const end = await endOf(world);
    await until("it is open", () => end.socket.readyState === WebSocket.OPEN);
    const part = new Uint8Array(1 << 20);
    for (let count = 0; count < 32; count++) end.send(DATA, part);
    await until("it is told", () => world.failures.length === 1);
    assert.match(world.failures[0] ?? "", /too much waits to be read/);
  }, { maxWaiting: 1 << 20 }));

Deno.test("connections are bounded, and all end with the port-forward", () =>
  withForward(async (world) => {
    const conns = await Promise.all(Array.from({ length: 64 }, () => tunnel(world)));
    await until("all lead to the pod", () => world.ends.length === 64);
    assert.ok(await isEnded(await world.connect()), "one too many is closed");
    assert.equal(world.ends.length, 64);
    await world.close();
    assert.ok((await Promise.all(conns.map(isEnded))).every((it) => it));
    await assert.rejects(world.connect(), Deno.errors.ConnectionRefused);
    assert.deepEqual(world.failures, []);
  }));
