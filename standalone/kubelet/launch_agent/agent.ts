/** Program of the launch agent: mpirun calls it as it would call ssh. */
import { LAUNCH_AGENT } from "../../../crds/pod_names.ts";
import {
  createSender,
  type Frame,
  FRAMES,
  PASSED_SIGNALS,
  readFrames,
  writeAll,
} from "./frames.ts";
import { parseSshArguments } from "./ssh_arguments.ts";

/** Exit code of ssh if it failed itself. */
const FAILURE = 255;

type Send = ReturnType<typeof createSender>;

/** Sends standard input, a piece whenever the one before was taken. Returns what is to be called then. */
function sendInput(send: Send, hasInput: boolean): () => void {
  const buffer = new Uint8Array(32_768);
  const next = async () => {
    const count = hasInput ? await Deno.stdin.read(buffer).catch(() => null) : null;
    if (count === null) await send(FRAMES.stdinEnd);
    else await send(FRAMES.stdin, buffer.slice(0, count));
  };
  next();
  return next;
}

/** Passes what comes on, until the command has ended. Returns the exit code. */
async function receive(frames: AsyncIterable<Frame>, onTaken: () => void): Promise<number> {
  const text = (payload: Uint8Array) => new TextDecoder().decode(payload);
  for await (const { kind, payload } of frames) {
    if (kind === FRAMES.stdout) await writeAll(Deno.stdout, payload);
    else if (kind === FRAMES.stderr) await writeAll(Deno.stderr, payload);
    else if (kind === FRAMES.stdinTaken) onTaken();
    else if (kind === FRAMES.exit) return Number(text(payload));
    else if (kind === FRAMES.failure) throw new Error(text(payload));
  }
  throw new Error("the kubelet ended the connection");
}

/** Runs the command on the host that the arguments name. */
async function launch(args: readonly string[]): Promise<number> {
  const parsed = parseSshArguments(args);
  if (parsed === undefined) throw new Error("usage: [OPTION]... HOST COMMAND...");
  const path = Deno.env.get(LAUNCH_AGENT.socketEnv);
  const token = Deno.env.get(LAUNCH_AGENT.tokenEnv);
  if (!path || !token) throw new Error("it runs in pods of MPI jobs only");
  const conn = await Deno.connect({ transport: "unix", path });
  const send = createSender(conn);
  const { host, command, hasInput } = parsed;
  await send(FRAMES.request, JSON.stringify({ token, host, command }));
  for (const name of PASSED_SIGNALS) {
    Deno.addSignalListener(name, () => void send(FRAMES.signal, name));
  }
  return await receive(readFrames(conn.readable), sendInput(send, hasInput));
}

/** Runs the program. Returns the exit code: that of the command, or 255 with a message if there was none. */
export async function runLaunchAgent(args: readonly string[]): Promise<number> {
  try {
    return await launch(args);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const line = `milepost ${LAUNCH_AGENT.command}: ${message}\n`;
    await writeAll(Deno.stderr, new TextEncoder().encode(line)).catch(() => {});
    return FAILURE;
  }
}
