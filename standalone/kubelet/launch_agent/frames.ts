/** Frames of the launch agent's connection: one byte for the kind, four for the length, the payload. */

/** Kinds of frames. */
export const FRAMES = {
  /** From the agent: what to run, as JSON; comes first. */
  request: 1,
  /** From the agent: a piece of standard input. The next one waits for {@link FRAMES.stdinTaken}. */
  stdin: 2,
  stdinEnd: 3,
  /** From the agent: the name of a signal for the command. */
  signal: 4,
  /** From the kubelet: output of the command. */
  stdout: 11,
  stderr: 12,
  stdinTaken: 13,
  /** From the kubelet: the exit code as a decimal number; comes last. */
  exit: 14,
  /** From the kubelet: why nothing was started; comes last. */
  failure: 15,
} as const;

/** Signals that an agent passes on. */
export const PASSED_SIGNALS = [
  "SIGHUP",
  "SIGINT",
  "SIGQUIT",
  "SIGTERM",
  "SIGUSR1",
  "SIGUSR2",
] as const;

/** One frame. */
export interface Frame {
  readonly kind: number;
  readonly payload: Uint8Array<ArrayBuffer>;
}

/** Most bytes of a payload: an argument of a program, as which the command is passed on, has at most 128 KiB. */
export const MOST_FRAME_BYTES = 262_144;

const HEADER_BYTES = 5;

/** The peer does not keep to the protocol. */
class FrameProblem extends Error {}

/** The bytes of a frame. Throws a {@link FrameProblem} for a payload that is too long. */
export function encodeFrame(
  kind: number,
  payload: Uint8Array | string = "",
): Uint8Array<ArrayBuffer> {
  const bytes = typeof payload === "string" ? new TextEncoder().encode(payload) : payload;
  if (bytes.length > MOST_FRAME_BYTES) {
    throw new FrameProblem(`a frame of ${bytes.length} bytes exceeds ${MOST_FRAME_BYTES}`);
  }
  const result = new Uint8Array(HEADER_BYTES + bytes.length);
  result[0] = kind;
  new DataView(result.buffer).setUint32(1, bytes.length);
  result.set(bytes, HEADER_BYTES);
  return result;
}

/** Writes all of the bytes. */
export async function writeAll(output: Pick<Deno.Conn, "write">, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await output.write(bytes.subarray(at));
}

/** A queue of what is sent: frames do not mix. Each call waits until the peer takes its frame, or is gone. */
export function createSender(output: Pick<Deno.Conn, "write">) {
  let sent = Promise.resolve();
  return (kind: number, payload: Uint8Array | string = ""): Promise<void> => {
    // The end of the connection is found where it is read.
    sent = sent.then(() => writeAll(output, encodeFrame(kind, payload))).catch(() => {});
    return sent;
  };
}

/**
 * Splits a stream into frames. Throws a {@link FrameProblem} for one that is too long, before it is read. Leaves the
 * stream open when it ends early, since it is one half of a connection.
 */
export async function* readFrames(
  stream: ReadableStream<Uint8Array>,
): AsyncGenerator<Frame, void> {
  let rest = new Uint8Array();
  for await (const chunk of stream.values({ preventCancel: true })) {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= HEADER_BYTES) {
      const length = new DataView(rest.buffer, rest.byteOffset).getUint32(1);
      if (length > MOST_FRAME_BYTES) {
        throw new FrameProblem(`a frame of ${length} bytes exceeds ${MOST_FRAME_BYTES}`);
      }
      const end = HEADER_BYTES + length;
      if (rest.length < end) break;
      yield { kind: rest[0] ?? 0, payload: rest.slice(HEADER_BYTES, end) };
      rest = rest.subarray(end);
    }
  }
}
