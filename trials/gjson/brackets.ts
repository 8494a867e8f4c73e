/** Where what a bracket or a quote opens in a path has its end, and what lies beyond. */

/** Index of the quote that closes the one at `start`, or of the text's end. */
export function endOfQuoted(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === '"') return at;
  }
  return text.length;
}

/**
 * Index after the piece that begins at `start` with a bracket or a quote, all that it encloses with it;
 * undefined: it is not closed. Any bracket closes any other.
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

/** What is asked of each of several values, and what of all the answers. */
export interface Split {
  readonly left: string;
  readonly right?: string;
}

/**
 * Splits what is asked of every element from what is asked of the list of the answers, at the first pipe
 * outside of queries.
 */
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

/** Found by trial: after braces a pipe counts only where the first character in them is no bracket. */
function splitAfterBraces(path: string): Split {
  const end = endOfPiece(path, 1);
  if (end === undefined || path[end] !== "|") return { left: path };
  return { left: path.slice(0, end), right: path.slice(end + 1) };
}

/** Index of the bracket that closes the one at `start`; where there is none there, `start` itself. */
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
