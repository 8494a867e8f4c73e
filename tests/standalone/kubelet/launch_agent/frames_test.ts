/** Tests of the launch agent's frames. */
import assert from "node:assert/strict";
import {
  encodeFrame,
  FRAMES,
  MOST_FRAME_BYTES,
  readFrames,
} from "../../../../standalone/kubelet/launch_agent/frames.ts";

async function read(chunks: Iterable<Uint8Array>): Promise<[number, string][]> {
  const found: [number, string][] = [];
  for await (const { kind, payload } of readFrames(ReadableStream.from(chunks))) {
    found.push([kind, new TextDecoder().decode(payload)]);
  }
  return found;
}

const sent = [
  encodeFrame(FRAMES.request, '{"a": "ü"}'),
  encodeFrame(FRAMES.stdinEnd),
  encodeFrame(FRAMES.stdout, "x".repeat(70_000)),
];
const bytes = new Uint8Array(sent.flatMap((frame) => [...frame]));
const want = [
  [FRAMES.request, '{"a": "ü"}'],
  [FRAMES.stdinEnd, ""],
  [FRAMES.stdout, "x".repeat(70_000)],
];

for (const size of [1, 3, 5, 4096, bytes.length]) {
  Deno.test(`readFrames() finds what encodeFrame() wrote in pieces of ${size} bytes`, async () => {
    const chunks = function* () {
      for (let at = 0; at < Math.min(bytes.length, 40 * size); at += size) {
        yield bytes.subarray(at, at + size);
      }
      if (40 * size < bytes.length) yield bytes.subarray(40 * size);
    };
    assert.deepEqual(await read(chunks()), want);
  });
}

Deno.test("readFrames() drops a frame that is cut off", async () => {
  assert.deepEqual(await read([bytes.subarray(0, 16)]), [[FRAMES.request, '{"a": "ü"}']]);
});

Deno.test("frames that are too long are neither read nor made", async () => {
  const header = new Uint8Array(5);
  new DataView(header.buffer).setUint32(1, MOST_FRAME_BYTES + 1);
  await assert.rejects(read([header]), /a frame of 262145 bytes exceeds 262144/);
  assert.throws(() => encodeFrame(FRAMES.stdin, new Uint8Array(MOST_FRAME_BYTES + 1)), /exceeds/);
});
