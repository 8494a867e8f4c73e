/** Reads logs back, as `kubectl logs` asks for them. */
import type { LogOptions } from "../../../crds/log_options.ts";
import type { LogKey, LogStore } from "./logs.ts";

/** A line of a log file: `<time> <stream> <F|P> <text>`. */
interface LogLine {
  readonly time: string;
  readonly whole: boolean;
  readonly text: string;
}

function parseLine(line: string): LogLine | undefined {
  const match = /^(\S+) (?:stdout|stderr) ([FP]) (.*)$/s.exec(line);
  if (match?.[1] === undefined || match[3] === undefined) return undefined;
  return { time: match[1], whole: match[2] === "F", text: match[3] };
}

/** Reads one growing file from where it stopped. */
class Tail {
  readonly inode: number | null;
  #file: Deno.FsFile;
  #decoder = new TextDecoder();
  #rest = "";

  constructor(readonly path: string) {
    this.#file = Deno.openSync(path);
    this.inode = this.#file.statSync().ino;
  }

  /** Whole lines that were added since the last call. */
  *lines(): Generator<LogLine> {
    const buffer = new Uint8Array(65_536);
    for (let n = this.#file.readSync(buffer); n; n = this.#file.readSync(buffer)) {
      const parts = (this.#rest + this.#decoder.decode(buffer.subarray(0, n), { stream: true }))
        .split("\n");
      this.#rest = parts.pop() ?? "";
      for (const part of parts) {
        const line = parseLine(part);
        if (line) yield line;
      }
    }
  }

  close(): void {
    this.#file.close();
  }
}

/** Lines of all files that are there, then those that come, until the container ends. */
async function* follow(
  store: LogStore,
  key: LogKey,
  signal: AbortSignal,
): AsyncGenerator<LogLine | "caught up"> {
  let tail: Tail | undefined;
  try {
    const files = await store.files(key);
    for (const path of files) {
      tail?.close();
      tail = new Tail(path);
      yield* tail.lines();
    }
    yield "caught up";
    for (let open = true; open && tail !== undefined && !signal.aborted;) {
      open = store.isOpen(key);
      const next = open ? store.changed(key, signal) : undefined;
      yield* tail.lines();
      const current: string = files.at(-1) ?? "";
      const inode = await Deno.stat(current).then((info) => info.ino, () => tail?.inode ?? null);
      if (inode !== tail.inode) { // put aside meanwhile: its end was read above
        yield* tail.lines();
        tail.close();
        tail = new Tail(current);
        continue;
      }
      await next;
    }
  } finally {
    tail?.close();
  }
}

/** The part of each line that a reader of the log sees. */
function shown(line: LogLine, timestamps: boolean, begins: boolean): string {
  const time = timestamps && begins ? `${line.time} ` : "";
  return `${time}${line.text}${line.whole ? "\n" : ""}`;
}

/** The lines that the options ask for, as text. */
async function* select(
  store: LogStore,
  key: LogKey,
  options: LogOptions,
  now: number,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const since = options.sinceSeconds !== undefined
    ? now - options.sinceSeconds * 1000
    : options.sinceTime
    ? Date.parse(options.sinceTime)
    : -Infinity;
  let held: string[] | undefined = options.tailLines === undefined ? undefined : [];
  let begins = true;
  for await (const line of follow(store, key, signal)) {
    if (line === "caught up") {
      yield* held ?? [];
      held = undefined;
      if (!options.follow) return;
      continue;
    }
    if (Date.parse(line.time) < since) continue;
    const text = shown(line, options.timestamps ?? false, begins);
    if (held === undefined) yield text;
    else if (begins) held.push(text);
    else held.push((held.pop() ?? "") + text);
    begins = line.whole;
    if (held && options.tailLines !== undefined && held.length > options.tailLines) held.shift();
  }
}

/**
 * The log of one start of a container. Its stream ends with the log's end, with the container's
 * where `follow` is set, and when the reader cancels it.
 */
export function readLog(
  store: LogStore,
  key: LogKey,
  options: LogOptions,
  now: number,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const abort = new AbortController();
  const lines = select(store, key, options, now, abort.signal);
  let left = options.limitBytes ?? Infinity;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { value, done } = await lines.next();
      if (done) return controller.close();
      const bytes = encoder.encode(value);
      controller.enqueue(bytes.subarray(0, Math.min(bytes.length, left)));
      left -= bytes.length;
      if (left > 0) return;
      controller.close();
      abort.abort();
      await lines.return(undefined);
    },
    async cancel() {
      abort.abort();
      await lines.return(undefined);
    },
  }, { highWaterMark: 0 });
}
