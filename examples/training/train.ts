/** Softmax regression on handwritten digits, by gradient descent on one node or many. Node 0 reports. */
import { connect, nodes, rank, receive, send } from "./nodes.ts";
import { report } from "./report.ts";
import text from "./digits.txt" with { type: "text" };

const epochs = Number(Deno.env.get("EPOCHS") ?? 300);
/** A trial of an OptimizationJob has the value of its parameter there. */
const tried = Deno.env.get("KUBEFLOW_TRAINER_OPT_LEARNING_RATE");
const rate = Number(tried ?? Deno.env.get("LEARNING_RATE") ?? 0.5);
const reportEpochs = Number(Deno.env.get("REPORT_EPOCHS") ?? 1);
const trainSeconds = Number(Deno.env.get("TRAIN_SECONDS") ?? 0);
const [CLASSES, INPUTS] = [10, 65];

/** Each node takes every n-th image: 64 pixels, a constant, and the digit that it shows. */
const images = text.trim().split("\n").filter((_, index) => index % nodes === rank).map((line) => {
  const figures = [...line].map((figure) => parseInt(figure, 17));
  const pixels = Float64Array.from([...figures.slice(0, 64).map((value) => value / 16), 1]);
  return { label: figures[64]!, pixels };
});

/** The score of a class for an image. */
function score(weights: Float64Array, c: number, pixels: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < INPUTS; i++) sum += pixels[i]! * weights[c * INPUTS + i]!;
  return sum;
}

/** The gradient over this node's images; behind it the loss, the right answers and the images, summed. */
function gradient(weights: Float64Array): Float64Array<ArrayBuffer> {
  const sum = new Float64Array(weights.length + 3);
  for (const { label, pixels } of images) {
    const scores = Array.from({ length: CLASSES }, (_, c) => score(weights, c, pixels));
    const top = Math.max(...scores);
    const powers = scores.map((score) => Math.exp(score - top));
    const total = powers.reduce((a, b) => a + b);
    for (let c = 0; c < CLASSES; c++) {
      const error = powers[c]! / total - (c === label ? 1 : 0);
      for (let i = 0; i < INPUTS; i++) sum[c * INPUTS + i]! += error * pixels[i]!;
    }
    sum[weights.length]! -= Math.log(powers[label]! / total);
    sum[weights.length + 1]! += scores.indexOf(top) === label ? 1 : 0;
    sum[weights.length + 2]! += 1;
  }
  return sum;
}

const weights = new Float64Array(CLASSES * INPUTS);
const peers = await connect();
const began = Date.now();
for (let epoch = 1; epoch <= epochs; epoch++) {
  if (rank > 0) {
    weights.set(await receive(peers[0]!, weights.length));
    await send(peers[0]!, gradient(weights));
    continue;
  }
  await Promise.all(peers.map((peer) => send(peer, weights)));
  const own = gradient(weights);
  const others = await Promise.all(peers.map((peer) => receive(peer, own.length)));
  const sum = [own, ...others].reduce((a, b) => a.map((value, index) => value + b[index]!));
  const [loss = 0, right = 0, count = 1] = sum.subarray(weights.length);
  weights.forEach((_, index) => weights[index]! -= rate * sum[index]! / count);
  const metrics = { loss: loss / count, accuracy: right / count };
  const earlyMs = began + 1000 * trainSeconds * epoch / epochs - Date.now();
  if (earlyMs > 0) await new Promise((resolve) => setTimeout(resolve, earlyMs));
  if (epoch % 50 === 0) console.log(`epoch ${epoch} of ${epochs}`, metrics);
  if (epoch % reportEpochs !== 0 && epoch < epochs) continue;
  const secondsLeft = (Date.now() - began) / 1000 * (epochs / epoch - 1);
  await report(100 * epoch / epochs, secondsLeft, metrics, epoch);
}
for (const peer of peers) peer.close();
if (rank > 0) console.log(`node ${rank} worked through ${images.length} images ${epochs} times`);
