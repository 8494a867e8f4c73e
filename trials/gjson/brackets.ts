/** Brackets and quotes in the text of a GJSON path: where what they enclose ends. */

/** Returns the index of the quote that closes the one at `start`, or the length of the text. */
export function endOfQuoted(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === '"') return at;
  }
  return text.length;
}

/**
 * Returns the index after the piece that begins at `start` with a bracket or a quote, with all that it
 * encloses, or undefined if it is not closed. Any closing bracket closes any opening one.
 */
export function endOfPiece(text: string, start: number): number | undefined {
  if (text[start] === '"') {
    const end = endOfQuoted(text, start);
    return end < text.length ? end + 1 : undefined;
  }
  let depth = 1;
  for (let at = start + 1; at < text.length; at++) {
    const char = text[at] ?? "";
    if (char === '"') at = endOfQuoted(text, at);
    else if ("{[(".includes(char)) depth++;
    else if ("}])".includes(char) && --depth === 0) return at + 1;
  }
  return undefined;
}

/** A path in two parts: `left` applies to each of several values, `right` to the list of their results. */
export interface Split {
  readonly left: string;
  readonly right?: string;
}

/** Splits a path at its first pipe outside queries. */
export function splitPipe(path: string): Split {
  if (!path.includes("|")) return { left: path };
  if (path[0] === "{") return splitAfterBraces(path);
  for (let at = 0; at < path.length; at++) {
    const char = path[at];
    if (char === "\\") at++;
    else if (char === "|") return { left: path.slice(0, at), right: path.slice(at + 1) };
    else if (char === "." && path[at + 1] === "#") at = endOfQuery(path, at + 2);
  }
  return { left: path };
}

/** Observed in GJSON: after braces a pipe counts only if the first character in them is not a bracket. */
function splitAfterBraces(path: string): Split {
  const end = endOfPiece(path, 1);
  if (end === undefined || path[end] !== "|") return { left: path };
  return { left: path.slice(0, end), right: path.slice(end + 1) };
}

/** Returns the index of the bracket that closes the one at `start`, or `start` if no bracket is there. */
function endOfQuery(path: string, start: number): number {
  const open = path[start];
  if (open !== "[" && open !== "(") return start;
  const close = open === "[" ? "]" : ")";
  let depth = 1;
  for (let at = start + 1; at < path.length; at++) {
    const char = path[at];
    if (char === "\\") at++;
    else if (char === open) depth++;
    else if (char === close && --depth === 0) return at;
    else if (char === '"') at = endOfQuoted(path, at);
  }
  return path.length;
}
