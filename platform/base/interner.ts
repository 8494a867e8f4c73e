/** Interner: equal parts of objects become the same part, so that each is held once. */

/** Options of {@link Interner}. */
export interface InternerOptions {
  /** Strings, and other parts, that are remembered; beyond it those not met lately are forgotten. Default 4000. */
  readonly maxParts?: number;
  /** Characters of strings that are remembered, in all. Default 4000000. */
  readonly maxCharacters?: number;
  /** Monotonic time, in milliseconds. Without it nothing is forgotten for its age. */
  readonly now?: () => number;
  /** Parts not met for this long are forgotten, and surely for twice as long. Default 300000. */
  readonly idleMs?: number;
}

/** The runtime itself holds strings from JSON of up to this length once. */
const SHORT = 10;
/** Fields whose value no other object has; what has one of them is not looked for. */
const UNIQUE: ReadonlySet<string> = new Set(["uid", "resourceVersion"]);

/** A known part, with its number. */
interface Part<T> {
  readonly value: T;
  readonly id: number;
}

/**
 * A part's place in its holder, and the text by which equal parts are found: undefined for one that
 * is not to be shared. No text is the beginning of another one's, so that they can be joined.
 */
interface Placed {
  readonly value: unknown;
  readonly text: string | undefined;
}

/**
 * Parts by text. After half of the limit was used, or some time has passed, what was not used
 * since the time before goes: most parts are met but once, and would fill any list of the last ones.
 */
class Recent<T> {
  #young = new Map<string, Part<T>>();
  #old = new Map<string, Part<T>>();
  /** Size of the young parts. */
  #size = 0;
  #sinceMs: number;

  constructor(
    private readonly bounds: {
      readonly maxParts: number;
      readonly maxSize: number;
      readonly now: () => number;
      readonly idleMs: number;
    },
  ) {
    this.#sinceMs = bounds.now();
  }

  get(text: string): Part<T> | undefined {
    const young = this.#young.get(text);
    if (young !== undefined) return young;
    const old = this.#old.get(text);
    if (old !== undefined) this.set(text, old);
    return old;
  }

  set(text: string, part: Part<T>): void {
    const { maxParts, maxSize, now, idleMs } = this.bounds;
    if (2 * text.length > maxSize) return;
    const isFull = 2 * (this.#young.size + 1) > maxParts ||
      2 * (this.#size + text.length) > maxSize;
    if (isFull || now() - this.#sinceMs >= idleMs) this.#turn();
    this.#young.set(text, part);
    this.#size += text.length;
  }

  #turn(): void {
    [this.#young, this.#old] = [new Map(), this.#young];
    [this.#size, this.#sinceMs] = [0, this.bounds.now()];
  }
}

function isRecord(value: object): value is Record<string, unknown> {
  return !Array.isArray(value);
}

/** Shares parts between all objects that it is given; it has met nothing at first. */
export class Interner {
  readonly #strings: Recent<string>;
  readonly #objects: Recent<object>;
  #lastId = 0;

  constructor(options: InternerOptions = {}) {
    const { maxParts = 4000, maxCharacters = 4_000_000 } = options;
    const { now = () => 0, idleMs = 300_000 } = options;
    const bounds = { maxParts, now, idleMs };
    this.#strings = new Recent({ ...bounds, maxSize: maxCharacters });
    this.#objects = new Recent({ ...bounds, maxSize: Infinity });
  }

  /**
   * Puts in place of each part of `object` (a string, a list, an object in it) an equal one that was
   * met before, and freezes them. The object itself stays the one it is, and is not frozen; it must
   * be the caller's own to change. Frozen parts are left alone.
   */
  intern(object: object): void {
    if (!Object.isFrozen(object)) this.#shareParts(object);
  }

  #place(value: unknown): Placed {
    switch (typeof value) {
      case "string":
        return this.#placeString(value);
      case "object":
        return value === null ? { value, text: "null;" } : this.#placeObject(value);
      default:
        return { value, text: `${value};` };
    }
  }

  #placeString(given: string): Placed {
    if (given.length <= SHORT) return { value: given, text: `"${given.length}:${given}` };
    let part = this.#strings.get(given);
    if (part === undefined) this.#strings.set(given, part = { value: given, id: ++this.#lastId });
    return { value: part.value, text: `#${part.id};` };
  }

  #placeObject(given: object): Placed {
    if (Object.isFrozen(given)) return { value: given, text: undefined };
    const text = this.#shareParts(given);
    if (text === undefined) return { value: given, text };
    let part = this.#objects.get(text);
    if (part === undefined) {
      part = { value: Object.freeze(given), id: ++this.#lastId };
      this.#objects.set(text, part);
    }
    return { value: part.value, text: `#${part.id};` };
  }

  /** The text of the whole, from those of its parts. */
  #shareParts(holder: object): string | undefined {
    return isRecord(holder) ? this.#shareFields(holder) : this.#shareItems(holder);
  }

  #shareFields(holder: Record<string, unknown>): string | undefined {
    let all: string | undefined = "{";
    for (const name of Object.keys(holder)) {
      if (UNIQUE.has(name)) {
        all = undefined;
        continue;
      }
      const { value, text } = this.#place(holder[name]);
      holder[name] = value;
      all = all === undefined || text === undefined
        ? undefined
        : `${all}${name.length}:${name}${text}`;
    }
    return all === undefined ? undefined : `${all}}`;
  }

  #shareItems(holder: object): string | undefined {
    if (!Array.isArray(holder)) return undefined;
    let all: string | undefined = "[";
    for (let index = 0; index < holder.length; index++) {
      const { value, text } = this.#place(holder[index]);
      holder[index] = value;
      all = all === undefined || text === undefined ? undefined : all + text;
    }
    return all === undefined ? undefined : `${all}]`;
  }
}
