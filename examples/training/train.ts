/** Softmax regression on handwritten digits, by gradient descent on one node or many. Node 0 reports. */
const env = (name: string, otherwise: string) => Deno.env.get(name) ?? otherwise;
const [rank, nodes] = [Number(env("PET_NODE_RANK", "0")), Number(env("PET_NNODES", "1"))];
const [epochs, rate] = [Number(env("EPOCHS", "300")), Number(env("LEARNING_RATE", "0.5"))];
const [CLASSES, INPUTS] = [10, 65];
const status = env("KUBEFLOW_TRAINER_STATUS_URL", "");
const http = status
  ? Deno.createHttpClient({ caCerts: [Deno.readTextFileSync(env("KUBEFLOW_TRAINER_STATUS_CA_CERT", ""))] })
  : undefined;
let reported = 0;

/** Tells Milepost how far the run is, once a fifth of a second at most. Training never waits for it to work. */
async function report(progress: number, secondsLeft: number, metrics: Record<string, number>) {
  if (!status || (progress < 100 && Date.now() - reported < 200)) return;
  reported = Date.now();
  const trainerStatus = {
    progressPercentage: Math.floor(progress),
    estimatedRemainingSeconds: Math.max(0, Math.round(secondsLeft)),
    metrics: Object.entries(metrics).map(([name, value]) => ({ name, value: value.toFixed(4) })),
    lastUpdatedTime: new Date().toISOString(),
  };
  const token = await Deno.readTextFile(env("KUBEFLOW_TRAINER_STATUS_TOKEN", ""));
  const answer = await fetch(status, {
    method: "POST",
    headers: { "authorization": `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ trainerStatus }),
    signal: AbortSignal.timeout(5000),
    client: http,
  }).catch((error) => new Response(String(error), { status: 599 }));
  const text = await answer.text();
  if (!answer.ok) console.warn(`progress was not taken (${answer.status}): ${text}`);
}

const lines = (await Deno.readTextFile(new URL("digits.txt", import.meta.url))).trim().split("\n");
const mine = lines.filter((_, index) => index % nodes === rank).map((line) => {
  const numbers = [...line].map((figure) => parseInt(figure, 17));
  return { label: numbers[64], pixels: [...numbers.slice(0, 64).map((value) => value / 16), 1] };
});

/** The gradient over this node's images; behind it the loss, the right answers and the images, summed. */
function gradient(weights: Float64Array): Float64Array {
  const sum = new Float64Array(CLASSES * INPUTS + 3);
  for (const { label, pixels } of mine) {
    const scores = Array.from({ length: CLASSES }, (_, c) => pixels.reduce((s, x, i) => s + x * weights[c * INPUTS + i], 0));
    const top = Math.max(...scores);
    const powers = scores.map((score) => Math.exp(score - top));
    const total = powers.reduce((a, b) => a + b);
    for (let c = 0; c < CLASSES; c++) {
      const error = powers[c] / total - (c === label ? 1 : 0);
      for (let i = 0; i < INPUTS; i++) sum[c * INPUTS + i] += error * pixels[i];
    }
    sum[CLASSES * INPUTS] -= Math.log(powers[label] / total);
    sum[CLASSES * INPUTS + 1] += scores.indexOf(top) === label ? 1 : 0;
    sum[CLASSES * INPUTS + 2] += 1;
  }
  return sum;
}

/** Reads exactly one vector from a peer. */
async function receive(peer: Deno.Conn, length: number): Promise<Float64Array> {
  const bytes = new Uint8Array(length * 8);
  for (let at = 0; at < bytes.length;) {
    const read = await peer.read(bytes.subarray(at));
    if (read === null) throw new Error("a node went away");
    at += read;
  }
  return new Float64Array(bytes.buffer);
}
async function send(peer: Deno.Conn, vector: Float64Array) {
  for (let rest = new Uint8Array(vector.buffer); rest.length > 0;) rest = rest.subarray(await peer.write(rest));
}
const address = { hostname: env("PET_MASTER_ADDR", "127.0.0.1"), port: Number(env("PET_MASTER_PORT", "29500")) };
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

const weights = new Float64Array(CLASSES * INPUTS);
if (rank === 0) {
  const listener = nodes > 1 ? Deno.listen(address) : undefined;
  const peers: Deno.Conn[] = [];
  while (listener && peers.length < nodes - 1) peers.push(await listener.accept());
  const began = Date.now();
  for (let epoch = 1; epoch <= epochs; epoch++) {
    await Promise.all(peers.map((peer) => send(peer, weights)));
    const sums = [gradient(weights), ...await Promise.all(peers.map((peer) => receive(peer, weights.length + 3)))];
    const total = sums.reduce((a, b) => a.map((value, index) => value + b[index]));
    const [loss, right, images] = total.subarray(weights.length);
    weights.forEach((_, index) => weights[index] -= rate * total[index] / images);
    const metrics = { loss: loss / images, accuracy: right / images };
    if (epoch % 50 === 0) console.log(`epoch ${epoch} of ${epochs}`, metrics);
    await report(100 * epoch / epochs, (Date.now() - began) / 1000 * (epochs / epoch - 1), metrics);
  }
  for (const peer of peers) peer.close();
} else {
  const peer = await join();
  for (let epoch = 1; epoch <= epochs; epoch++) {
    weights.set(await receive(peer, weights.length));
    await send(peer, gradient(weights));
  }
  console.log(`node ${rank} worked through ${mine.length} images ${epochs} times`);
}
Deno.exit(0);
