/** Container logs: files in CRI format, of bounded size. */
import { Buffer } from "node:buffer";
import { existsSync, statSync } from "node:fs";
import { getLogger } from "@logtape/logtape";
import { onAbort } from "../../../platform/base/aborted.ts";
import { createKeyedListeners } from "../../../platform/base/keyed_listeners.ts";
import { removeAllBut, removeIfThere } from "../processes/removal.ts";

const logger = getLogger(["milepost", "standalone"]);

/** Which start of which container. */
export interface LogKey {
  readonly podUid: string;
  readonly container: string;
  /** Restarts before this start. */
  readonly attempt: number;
}

/** Store of container logs. */
export type LogStore = ReturnType<typeof createLogStore>;

/** Options of {@link createLogStore}. */
export interface LogStoreOptions {
  readonly folder: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** A file is put aside at this size, in bytes; one such older file is kept. Default 10 MiB. */
  readonly mostBytes?: number;
}

const NEWLINE = 10;
const LINE_END = Uint8Array.of(NEWLINE);
/** A line longer than this is cut into pieces, marked `P`, as CRI does. */
const LONGEST_LINE = 16_384;
const DEFAULT_MOST_BYTES = 10 * 2 ** 20;

/** File in the folder of a pod whose logs were removed before the pod. */
const DISCARDED = "discarded";

/** The bytes of the files in a folder; none if it is not there. */
async function sizeOf(folder: string): Promise<number> {
  let bytes = 0;
  try {
    for await (const { name, isDirectory } of Deno.readDir(folder)) {
      const path = `${folder}/${name}`;
      bytes += isDirectory ? await sizeOf(path) : (await Deno.stat(path)).size;
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return bytes;
}

/** RFC 3339 with nanoseconds, of which the clock knows milliseconds. */
function rfc3339Nano(ms: number): string {
  return new Date(ms).toISOString().replace("Z", "000000Z");
}

/** Cuts a stream of bytes into lines and pieces of long lines. */
class LineCutter {
  #rest: Uint8Array = new Uint8Array();

  *push(chunk: Uint8Array): Generator<{ text: Uint8Array; whole: boolean }> {
    let data = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk;
    while (data.length > 0) {
      const end = data.indexOf(NEWLINE);
      if (end >= 0 && end <= LONGEST_LINE) {
        yield { text: data.subarray(0, end), whole: true };
        data = data.subarray(end + 1);
      } else if (data.length > LONGEST_LINE) {
        yield { text: data.subarray(0, LONGEST_LINE), whole: false };
        data = data.subarray(LONGEST_LINE);
      } else break;
    }
    this.#rest = data.slice();
  }

  *flush(): Generator<{ text: Uint8Array; whole: boolean }> {
    if (this.#rest.length > 0) yield { text: this.#rest, whole: true };
    this.#rest = new Uint8Array();
  }
}

/** A file that is put aside when it is full. */
class RotatingFile {
  #file: Deno.FsFile;
  #size = 0;

  constructor(private readonly path: string, private readonly mostBytes: number) {
    this.#file = this.#create();
  }

  #create(): Deno.FsFile {
    return Deno.openSync(this.path, { create: true, truncate: true, write: true, mode: 0o600 });
  }

  append(data: Uint8Array): void {
    if (this.#size > 0 && this.#size + data.length > this.mostBytes) {
      Deno.renameSync(this.path, `${this.path}.old`);
      // The full file stays open until there is another one, which a full disk may refuse.
      const next = this.#create();
      this.#file.close();
      this.#file = next;
      this.#size = 0;
    }
    for (let at = 0; at < data.length;) at += this.#file.writeSync(data.subarray(at));
    this.#size += data.length;
  }

  close(): void {
    this.#file.close();
  }
}

/** A store of logs in a folder. */
export function createLogStore(options: LogStoreOptions) {
  const { folder, now, mostBytes = DEFAULT_MOST_BYTES } = options;
  const encoder = new TextEncoder();
  const open = new Set<string>();
  const readers = createKeyedListeners();
  const folderOf = (key: LogKey) => `${folder}/${key.podUid}/${key.container}`;
  const pathOf = (key: LogKey) => `${folderOf(key)}/${key.attempt}.log`;

  return {
    /** Begins a start's log, which takes the output of its container. */
    open(key: LogKey) {
      Deno.mkdirSync(folderOf(key), { recursive: true, mode: 0o700 });
      const path = pathOf(key);
      const file = new RotatingFile(path, mostBytes);
      const cutters = { stdout: new LineCutter(), stderr: new LineCutter() };
      let lossy = false;
      open.add(path);
      // Kubernetes keeps the last start and the one before it.
      removeIfThere(`${folderOf(key)}/${key.attempt - 2}.log`);
      removeIfThere(`${folderOf(key)}/${key.attempt - 2}.log.old`);
      const append = (
        stream: "stdout" | "stderr",
        { text, whole }: { text: Uint8Array; whole: boolean },
      ) => {
        const head = encoder.encode(`${rfc3339Nano(now())} ${stream} ${whole ? "F" : "P"} `);
        try {
          file.append(Buffer.concat([head, text, LINE_END]));
        } catch (error) { // a full disk must not end the program whose output this is
          if (!lossy) logger.error("Cannot write a container's log", { path, error });
          lossy = true;
        }
      };
      return {
        write(stream: "stdout" | "stderr", chunk: Uint8Array): void {
          for (const line of cutters[stream].push(chunk)) append(stream, line);
          readers.notify(path);
        },
        /** Writes what has no line end yet and closes the file. */
        close(): void {
          for (const stream of ["stdout", "stderr"] as const) {
            for (const line of cutters[stream].flush()) append(stream, line);
          }
          file.close();
          open.delete(path);
          readers.notify(path);
        },
      };
    },
    /** Files of one start that are there, the oldest first. */
    async files(key: LogKey): Promise<string[]> {
      const found: string[] = [];
      for (const path of [`${pathOf(key)}.old`, pathOf(key)]) {
        const info = await Deno.stat(path).catch(() => undefined);
        if (info?.isFile) found.push(path);
      }
      return found;
    },
    /** Whether a start has written nothing. */
    isEmpty: (key: LogKey): boolean => !(statSync(pathOf(key), { throwIfNoEntry: false })?.size),
    /** Whether a start is being written. */
    isOpen: (key: LogKey): boolean => open.has(pathOf(key)),
    /** Resolves at the next write to, or the closing of, a start; at once if it is closed. */
    changed(key: LogKey, signal: AbortSignal): Promise<void> {
      if (!open.has(pathOf(key)) || signal.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        const wake = () => {
          forget();
          remove();
          resolve();
        };
        const remove = readers.add(pathOf(key), wake);
        const forget = onAbort(signal, wake);
      });
    },
    /** Returns the bytes of all logs of a pod. */
    size: (podUid: string): Promise<number> => sizeOf(`${folder}/${podUid}`),
    /** Removes all logs of a pod. */
    async remove(podUid: string): Promise<void> {
      await removeIfThere(`${folder}/${podUid}`, { recursive: true });
    },
    /** Removes them, and remembers that there were some, if there were. */
    async discard(podUid: string): Promise<void> {
      try {
        await removeAllBut(`${folder}/${podUid}`, () => false);
        await Deno.writeTextFile(`${folder}/${podUid}/${DISCARDED}`, "", { mode: 0o600 });
      } catch (error) { // a pod that never started has no folder
        if (!(error instanceof Deno.errors.NotFound)) throw error;
      }
    },
    isDiscarded: (podUid: string): boolean => existsSync(`${folder}/${podUid}/${DISCARDED}`),
  };
}
