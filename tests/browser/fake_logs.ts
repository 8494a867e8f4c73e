/** Logs of a fake server: they grow, break off when they are told to, and are read on from a time. */
import { HOSTILE_TEXTS } from "./hostile_corpus.ts";

/** Time between two lines, in milliseconds. */
const LINE_MS = 100;
/** Lines that are there from the start. */
const FIRST_LINES = 60;

/** The logs. */
export interface FakeLogs {
  /** Streams that are open now. */
  readonly open: number;
  answer(query: URLSearchParams): Response;
  /** Breaks all streams off, in the middle of a line. */
  breakOff(): void;
}

/** Makes them. */
export function fakeLogs({ hostile, startMs }: { hostile: boolean; startMs: number }): FakeLogs {
  const texts = HOSTILE_TEXTS.filter(() => hostile).map((it) => it.replaceAll("\n", " "));
  const open = new Map<ReadableStreamDefaultController<Uint8Array>, () => void>();
  const encoder = new TextEncoder();
  const timeOf = (index: number) => startMs + (index - FIRST_LINES) * LINE_MS;
  const lineOf = (index: number) => {
    const time = new Date(timeOf(index)).toISOString().replace("Z", "123456Z");
    const loss = (2 * Math.exp(-index / 200)).toFixed(4);
    return `${time} ${texts[index] ?? `\u001b[32mepoch ${index}\u001b[0m loss=${loss}`}\n`;
  };
  const count = () => FIRST_LINES + Math.floor((Date.now() - startMs) / LINE_MS);

  function follow(first: number): Response {
    let next = first;
    let own: ReadableStreamDefaultController<Uint8Array> | undefined;
    let timer: ReturnType<typeof setInterval> | undefined;
    const end = () => {
      clearInterval(timer);
      if (own !== undefined) open.delete(own);
    };
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        own = controller;
        open.set(controller, end);
        const send = () => {
          try {
            for (; next < count(); next++) controller.enqueue(encoder.encode(lineOf(next)));
          } catch {
            // Its reader has gone already.
            end();
          }
        };
        send();
        timer = setInterval(send, LINE_MS);
      },
      cancel: end,
    });
    return new Response(body, { headers: { "content-type": "text/plain" } });
  }

  return {
    get open() {
      return open.size;
    },
    answer(query) {
      if (query.get("timestamps") !== "true") {
        const lines = Array.from({ length: count() }, (_, index) => lineOf(index));
        return new Response(lines.map((it) => it.replace(/^\S+ /, "")).join(""));
      }
      if (query.get("previous") === "true") {
        return new Response("2026-01-01T00:00:00Z this was the run before\n");
      }
      const since = Date.parse(query.get("sinceTime") ?? "");
      // As the API server does: whole seconds, and all lines from that one on.
      const from = Number.isNaN(since) ? 0 : Math.floor(since / 1000) * 1000;
      const first = Array.from({ length: count() }, (_, index) => index)
        .find((index) => timeOf(index) >= from) ?? count();
      if (query.get("follow") === "true") return follow(first);
      const lines = Array.from({ length: count() - first }, (_, index) => lineOf(first + index));
      return new Response(lines.join(""));
    },
    breakOff() {
      for (const [controller, end] of [...open]) {
        end();
        controller.enqueue(encoder.encode(lineOf(count()).slice(0, 40)));
        controller.close();
      }
    },
  };
}
