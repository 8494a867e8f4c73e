/** Parser of server-sent events that come in pieces. */

/** An event, or a comment. */
export type StreamPart =
  | { readonly kind: "event"; readonly event: string; readonly data: string }
  | { readonly kind: "comment"; readonly text: string };

/**
 * Returns a function that takes the next piece of text and returns what it completes. It throws a RangeError if an event
 * or a line without an end yet has more characters than that.
 */
export function createEventParser(
  mostCharacters: number,
): (text: string) => readonly StreamPart[] {
  /** Pieces of the line that has no end yet. */
  let rest: string[] = [];
  let length = 0;
  let event = "";
  let data: string[] = [];
  /** Characters of the data, with the ends of its lines. */
  let dataLength = 0;
  const line = (text: string): readonly StreamPart[] => {
    if (text === "") {
      const done = data.length > 0
        ? [{ kind: "event" as const, event, data: data.join("\n") }]
        : [];
      [event, data, dataLength] = ["", [], 0];
      return done;
    }
    if (text.startsWith(":")) return [{ kind: "comment", text: text.slice(1).trim() }];
    const colon = text.indexOf(":");
    const field = colon < 0 ? text : text.slice(0, colon);
    const value = colon < 0 ? "" : text.slice(colon + (text[colon + 1] === " " ? 2 : 1));
    if (field === "event") event = value;
    if (field === "data") {
      data.push(value);
      dataLength += value.length + 1;
    }
    return [];
  };
  return (text) => {
    const lines = text.split("\n");
    const last = lines.pop() ?? "";
    if (lines.length > 0) {
      lines[0] = rest.join("") + lines[0];
      [rest, length] = [[], 0];
    }
    rest.push(last);
    length += last.length;
    const parts = lines.flatMap((it) => line(it.endsWith("\r") ? it.slice(0, -1) : it));
    if (dataLength + length > mostCharacters) {
      throw new RangeError("an event of the stream is too long");
    }
    return parts;
  };
}
