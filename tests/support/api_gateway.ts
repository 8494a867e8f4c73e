/** Gateway before an API server that also forwards ports of pods, each to a port of this machine. */
import { Buffer } from "node:buffer";

/** A gateway. */
export interface ApiGateway extends AsyncDisposable {
  /** Base URL, plain HTTP. */
  readonly url: string;
  /** Paths of the port-forwards that were asked for. */
  readonly forwards: string[];
}

/** Where the API server is, and where ports lead. */
export interface GatewayOptions {
  readonly server: string;
  readonly caPem: string;
}

const FORWARD = /^\/api\/v1\/namespaces\/[^/]+\/pods\/[^/]+\/portforward$/;
const [DATA, ERROR] = [0, 1];

/** Carries bytes between a WebSocket, in the API's framing, and a port of this machine. */
async function carry(socket: WebSocket, port: number): Promise<void> {
  const send = (channel: number, bytes: Uint8Array) => {
    if (socket.readyState === WebSocket.OPEN) {
      socket.send(Buffer.concat([Buffer.of(channel), bytes]));
    }
  };
  for (const channel of [DATA, ERROR]) send(channel, Buffer.of(port & 0xff, port >> 8));
  try {
    using conn = await Deno.connect({ hostname: "127.0.0.1", port });
    let writing = Promise.resolve();
    socket.onmessage = ({ data }) => {
      const bytes = new Uint8Array(data, 1);
      writing = writing.then(async () => {
        for (let at = 0; at < bytes.length;) at += await conn.write(bytes.subarray(at));
      });
      writing.catch(() => socket.close());
    };
    socket.onclose = () => void conn.closeWrite().catch(() => {});
    const buffer = new Uint8Array(65_536);
    for (let length; (length = await conn.read(buffer)) !== null;) {
      send(DATA, buffer.subarray(0, length));
    }
  } catch (error) {
    send(ERROR, Buffer.from(String(error)));
  } finally {
    socket.close();
  }
}

/** Starts one. */
export function startApiGateway({ server, caPem }: GatewayOptions): ApiGateway {
  const client = Deno.createHttpClient({ caCerts: [caPem] });
  const forwards: string[] = [];
  const serving = { port: 0, hostname: "127.0.0.1", onListen: () => {} };
  const gateway = Deno.serve(serving, async (request) => {
    const { pathname, search, searchParams } = new URL(request.url);
    if (FORWARD.test(pathname)) {
      forwards.push(pathname + search);
      const { socket, response } = Deno.upgradeWebSocket(request, {
        protocol: "v4.channel.k8s.io",
      });
      socket.binaryType = "arraybuffer";
      socket.onopen = () => void carry(socket, Number(searchParams.get("ports")));
      return response;
    }
    const { method, headers, body } = request;
    return await fetch(server + pathname + search, { method, headers, body, client });
  });
  return {
    url: `http://127.0.0.1:${gateway.addr.port}`,
    forwards,
    async [Symbol.asyncDispose]() {
      await gateway.shutdown();
      client.close();
    },
  };
}
