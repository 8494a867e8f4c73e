/** Exchange of vectors between the nodes of a training run: node 0 listens, the others connect to it. */
const env = (name: string, otherwise: string) => Deno.env.get(name) ?? otherwise;

/** This node, and how many there are. */
export const [rank, nodes] = [Number(env("PET_NODE_RANK", "0")), Number(env("PET_NNODES", "1"))];
const address = {
  hostname: env("PET_MASTER_ADDR", "127.0.0.1"),
  port: Number(env("PET_MASTER_PORT", "29500")),
};

/** Connections to the other nodes: on node 0 to all of them, elsewhere to node 0. */
export async function connect(): Promise<Deno.Conn[]> {
  if (rank > 0) return [await join()];
  const listener = nodes > 1 ? Deno.listen(address) : undefined;
  const peers: Deno.Conn[] = [];
  while (listener && peers.length < nodes - 1) peers.push(await listener.accept());
  listener?.close();
  return peers;
}

/** Node 0 may start later than this one: tries for half a minute. */
async function join(): Promise<Deno.Conn> {
  for (let tries = 0;; tries++) {
    try {
      return await Deno.connect(address);
    } catch (error) {
      if (tries === 300) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

export async function send(peer: Deno.Conn, vector: Float64Array<ArrayBuffer>): Promise<void> {
  let rest = new Uint8Array(vector.buffer);
  while (rest.length > 0) rest = rest.subarray(await peer.write(rest));
}

/** Reads exactly one vector. */
export async function receive(peer: Deno.Conn, length: number): Promise<Float64Array<ArrayBuffer>> {
  const bytes = new Uint8Array(length * 8);
  for (let at = 0; at < bytes.length;) {
    const read = await peer.read(bytes.subarray(at));
    if (read === null) throw new Error("a node went away");
    at += read;
  }
  return new Float64Array(bytes.buffer);
}
