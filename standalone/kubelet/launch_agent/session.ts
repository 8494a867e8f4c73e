/** One connection of a launch agent: reads what to run, runs it in the pod of that host, and passes everything on. */
import { z } from "zod";
import { messageOf } from "../../../platform/kube/errors.ts";
import { after, type Clock } from "../../../platform/base/clock.ts";
import { signal as signalProcess } from "../processes/process_table.ts";
import type { RunningProcess } from "../processes/processes.ts";
import { createSender, type Frame, FRAMES, PASSED_SIGNALS, readFrames } from "./frames.ts";
import type { CommandStreams, Member, Members } from "./job_pods.ts";

/** What an agent asks for first. */
const REQUEST = z.strictObject({
  token: z.string(),
  host: z.string().max(300),
  command: z.string(),
});
type Request = z.infer<typeof REQUEST>;

/** How long an agent may take to say what it wants, in milliseconds. */
const REQUEST_MS = 10_000;
/** Attempts to reach a pod that does not run yet, as many as the policy mpi asks of ssh, and the pause between them. */
const ATTEMPTS = 10;
const ATTEMPT_MS = 1000;
/** Grace of a command whose agent is gone, in milliseconds. */
const GRACE_MS = 2000;

/** The agent is refused; the message is for its user. */
class Refusal extends Error {}

/** Parses a request. Throws a {@link Refusal}. */
function requestOf({ kind, payload }: Frame): Request {
  try {
    if (kind === FRAMES.request) {
      return REQUEST.parse(JSON.parse(new TextDecoder().decode(payload)));
    }
  } catch {
    // What is wrong with it is no matter: only the agent of this program sends requests.
  }
  throw new Refusal("the first frame must be a request");
}

/** Input of a command, piece by piece. */
function inputPipe() {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  // A command that does not read its input to the end is no failure.
  writer.closed.catch(() => {});
  return {
    readable,
    write: (chunk: Uint8Array) => writer.write(chunk).catch(() => {}),
    end: () => void writer.close().catch(() => {}),
  };
}

/** A connection of an agent. */
export class Session {
  readonly #over = new AbortController();
  readonly #send: ReturnType<typeof createSender>;

  constructor(
    private readonly conn: Deno.Conn,
    private readonly members: Members,
    private readonly clock: Clock,
  ) {
    this.#send = createSender(conn);
  }

  /** Serves the connection to its end. Never throws. */
  async run(): Promise<void> {
    try {
      await this.#serve(readFrames(this.conn.readable));
    } catch (error) {
      await this.#send(FRAMES.failure, messageOf(error));
    } finally {
      this.close();
    }
  }

  /** Ends the connection, and with it the command. */
  close(): void {
    this.#over.abort();
    try {
      this.conn.close();
    } catch {
      // It is closed.
    }
  }

  async #serve(frames: AsyncGenerator<Frame, void>): Promise<void> {
    const request = await this.#request(frames);
    if (request === undefined) return;
    const input = inputPipe();
    const process = await this.#start(request, {
      stdin: input.readable,
      onOutput: (stream, chunk) => this.#send(FRAMES[stream], chunk),
    });
    const attending = this.#attend(frames, process, input);
    await this.#send(FRAMES.exit, String(await process.ended));
    this.close();
    await attending;
  }

  /** The request; undefined if the agent went. */
  async #request(frames: AsyncGenerator<Frame, void>): Promise<Request | undefined> {
    const cancel = after(this.clock, REQUEST_MS, () => this.close());
    const { value } = await frames.next();
    cancel();
    return value ? requestOf(value) : undefined;
  }

  /** Starts the command as soon as the pod runs. Throws a {@link Refusal}. */
  async #start(
    { token, host, command }: Request,
    streams: CommandStreams,
  ): Promise<RunningProcess> {
    const holder = this.members.holder(token);
    if (holder === undefined) throw new Refusal("the token belongs to no pod of an MPI job");
    let peer: Member | undefined;
    for (let attempt = 0; attempt < ATTEMPTS && !this.#over.signal.aborted; attempt++) {
      if (attempt > 0) await this.clock.sleep(ATTEMPT_MS, this.#over.signal);
      peer = this.members.peer(holder, host);
      const process = peer?.start(command, streams);
      if (process) return process;
    }
    throw new Refusal(
      peer === undefined
        ? `no pod of this job on this machine is called ${host}`
        : `the pod ${host} does not run`,
    );
  }

  /** Passes input and signals on; ends the command when the agent is gone. */
  async #attend(
    frames: AsyncGenerator<Frame, void>,
    process: RunningProcess,
    input: ReturnType<typeof inputPipe>,
  ): Promise<void> {
    let isTaken = true;
    try {
      for await (const { kind, payload } of frames) {
        if (kind === FRAMES.stdin && isTaken) {
          isTaken = false;
          input.write(payload).then(() => {
            isTaken = true;
            this.#send(FRAMES.stdinTaken);
          });
        } else if (kind === FRAMES.stdinEnd) input.end();
        else if (kind === FRAMES.signal) {
          const name = PASSED_SIGNALS.find((it) => it === new TextDecoder().decode(payload));
          if (name) signalProcess(-process.pid, name);
        } else throw new Refusal("this frame was not expected");
      }
    } catch {
      // The connection broke.
    }
    input.end();
    await process.stop(GRACE_MS);
  }
}
