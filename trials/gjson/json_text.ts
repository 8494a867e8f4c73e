/** JSON parser that keeps the order of members and reports the position of a mistake. */
import { endOfQuoted } from "./brackets.ts";
import { Members } from "./gjson_values.ts";

/** Deepest nesting of brackets. */
const DEPTH = 100;

/** The value of a text, or what is wrong with it, and the index of the character at which parsing stopped. */
export type JsonReading =
  | { readonly value: unknown }
  | { readonly problem: string; readonly index: number };

/** A mistake in JSON text. */
class JsonTextError extends Error {
  constructor(message: string, readonly index: number) {
    super(message);
  }
}

const SPACE = /[ \t\n\r]*/y;
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

/** Parses the whole text as one value. */
export function readJsonText(text: string): JsonReading {
  const reader = new JsonReader(text);
  try {
    const value = reader.value(0);
    reader.end();
    return { value };
  } catch (error) {
    if (!(error instanceof JsonTextError)) throw error;
    return { problem: error.message, index: error.index };
  }
}

/** Parses the whole text as one value. Returns undefined if it is not JSON. */
export function jsonTextOf(text: string): unknown {
  const read = readJsonText(text);
  return "value" in read ? read.value : undefined;
}

/** Parses a text from left to right. */
class JsonReader {
  #index = 0;

  constructor(private readonly text: string) {}

  end(): void {
    this.#space();
    if (this.#index < this.text.length) throw this.#mistake("more text after the JSON value");
  }

  value(depth: number): unknown {
    if (depth > DEPTH) throw this.#mistake(`more than ${DEPTH} nested brackets`);
    this.#space();
    const first = this.text[this.#index];
    if (first === "{") return this.#object(depth);
    if (first === "[") return this.#array(depth);
    if (first === '"') return this.#string();
    const scalar = this.#take(SCALAR);
    if (scalar !== undefined) return JSON.parse(scalar);
    throw this.#mistake(first === undefined ? "the JSON ends too early" : "not JSON");
  }

  #object(depth: number): Members {
    const members: [string, unknown][] = [];
    this.#list("}", () => {
      this.#space();
      const key = this.#string();
      this.#space();
      if (this.text[this.#index] !== ":") throw this.#mistake("a colon is missing");
      this.#index++;
      members.push([key, this.value(depth + 1)]);
    });
    return new Members(members);
  }

  #array(depth: number): unknown[] {
    const values: unknown[] = [];
    this.#list("]", () => values.push(this.value(depth + 1)));
    return values;
  }

  /** Parses elements, separated by commas, from the bracket at the index to `end`. */
  #list(end: string, element: () => void): void {
    this.#index++;
    this.#space();
    if (this.text[this.#index] === end) {
      this.#index++;
      return;
    }
    for (;;) {
      element();
      this.#space();
      const next = this.text[this.#index];
      if (next !== "," && next !== end) throw this.#mistake(`"," or "${end}" is missing`);
      this.#index++;
      if (next === end) return;
    }
  }

  #string(): string {
    const start = this.#index;
    const { length } = this.text;
    const end = this.text[start] === '"' ? endOfQuoted(this.text, start) : length;
    if (end >= length) throw this.#mistake("a string is missing or not closed");
    this.#index = end + 1;
    try {
      return String(JSON.parse(this.text.slice(start, end + 1)));
    } catch {
      throw new JsonTextError("a string that is not valid JSON", start);
    }
  }

  #space(): void {
    this.#take(SPACE);
  }

  #take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#index;
    const found = pattern.exec(this.text)?.[0];
    if (found !== undefined) this.#index += found.length;
    return found;
  }

  #mistake(message: string): JsonTextError {
    return new JsonTextError(message, this.#index);
  }
}
