/** Parser of server-sent events that come in parts. Pure. */

/** An event, or a comment. */
export type StreamPart =
  | { readonly kind: "event"; readonly event: string; readonly data: string }
  | { readonly kind: "comment"; readonly text: string };

/** Most characters of an event that has no end yet. */
const MOST_CHARACTERS = 8_000_000;

/** Returns a function that takes the next piece of text and returns what it completes. Throws a RangeError if an event is too long. */
export function createSseParser(): (text: string) => readonly StreamPart[] {
  let rest = "";
  let event = "";
  let data: string[] = [];
  const line = (text: string): readonly StreamPart[] => {
    if (text === "") {
      const done = data.length > 0
        ? [{ kind: "event" as const, event, data: data.join("\n") }]
        : [];
      [event, data] = ["", []];
      return done;
    }
    if (text.startsWith(":")) return [{ kind: "comment", text: text.slice(1).trim() }];
    const [, field, value = ""] = /^([^:]*):? ?([^]*)$/.exec(text) ?? [];
    if (field === "event") event = value;
    if (field === "data") data.push(value);
    return [];
  };
  return (text) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > MOST_CHARACTERS) throw new RangeError("an event of the stream is too long");
    return lines.flatMap((it) => line(it.endsWith("\r") ? it.slice(0, -1) : it));
  };
}
