/** Client of server-sent events, as far as the status endpoint uses them. */
import { within } from "./within.ts";

/** Part of a stream: an event, a comment, or the end. */
export type Heard =
  | { readonly event: string; readonly id: number | undefined; readonly data: unknown }
  | { readonly comment: string }
  | { readonly retry: number }
  | { readonly closed: true };

/** Reads one block of lines. */
export function parseBlock(block: string): Heard {
  const fields = new Map<string, string>();
  for (const line of block.split("\n")) {
    const [, name = "", value = ""] = /^([^:]*): ?(.*)$/.exec(line) ?? [];
    fields.set(name, value);
  }
  const comment = fields.get("");
  if (comment !== undefined) return { comment };
  const retry = fields.get("retry");
  if (retry !== undefined) return { retry: Number(retry) };
  const id = fields.get("id");
  return {
    event: fields.get("event") ?? "",
    id: id === undefined ? undefined : Number(id),
    data: JSON.parse(fields.get("data") ?? "null"),
  };
}

/** An answer, whose events are read one by one. */
export interface EventReader extends AsyncDisposable {
  readonly status: number;
  readonly headers: Headers;
  /** The next event or the end; comments are kept apart. Throws after 30 s without any. */
  next(): Promise<Heard>;
  /** Comments that came so far. */
  readonly comments: readonly string[];
}

/** Asks for a stream of events, with a body by POST. */
export async function openEvents(
  url: string,
  { token, ca, body: asked }: {
    readonly token: string;
    readonly ca: string;
    readonly body?: string;
  },
): Promise<EventReader> {
  const client = Deno.createHttpClient({ caCerts: [ca] });
  const gone = new AbortController();
  const answer = await within("an answer", () =>
    fetch(url, {
      client,
      headers: { authorization: `Bearer ${token}`, accept: "text/event-stream" },
      signal: gone.signal,
      ...(asked !== undefined && { method: "POST", body: asked }),
    }));
  const comments: string[] = [];
  const body = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";

  async function block(): Promise<Heard> {
    for (;;) {
      const end = text.indexOf("\n\n");
      if (end >= 0) {
        const heard = parseBlock(text.slice(0, end));
        text = text.slice(end + 2);
        return heard;
      }
      const read = await body?.read().catch(() => undefined);
      if (read === undefined || read.done) return { closed: true };
      text += read.value;
    }
  }

  async function next(): Promise<Heard> {
    for (;;) {
      const heard = await block();
      if ("comment" in heard) comments.push(heard.comment);
      else if (!("retry" in heard)) return heard;
    }
  }

  return {
    status: answer.status,
    headers: answer.headers,
    comments,
    next: () => within("an event", next),
    async [Symbol.asyncDispose]() {
      gone.abort();
      await body?.cancel().catch(() => {});
      client.close();
    },
  };
}
