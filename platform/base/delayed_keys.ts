/** Priority queue of keys by their due times, with lazy deletion. */
import TinyQueue from "tinyqueue";

interface Entry {
  readonly key: string;
  readonly at: number;
}

/** Keys that are due later; each once, at its earliest time. */
export class DelayedKeys {
  readonly #queue = new TinyQueue<Entry>([], (one, other) => one.at - other.at);
  /** Time at which each key is due; entries of the queue with other times are obsolete. */
  readonly #dueAt = new Map<string, number>();

  get size(): number {
    return this.#dueAt.size;
  }

  /** Sets when the key is due; an earlier time that is set already stays. */
  set(key: string, at: number): void {
    const known = this.#dueAt.get(key);
    if (known !== undefined && known <= at) return;
    this.#dueAt.set(key, at);
    this.#queue.push({ key, at });
  }

  /** The time of the key that is due first. */
  nextAt(): number | undefined {
    return this.#first()?.at;
  }

  /** Removes and returns the keys that are due at `now`, earliest first. */
  takeDue(now: number): string[] {
    const due: string[] = [];
    for (let entry = this.#first(); entry !== undefined && entry.at <= now; entry = this.#first()) {
      this.#queue.pop();
      this.#dueAt.delete(entry.key);
      due.push(entry.key);
    }
    return due;
  }

  clear(): void {
    while (this.#queue.length > 0) this.#queue.pop();
    this.#dueAt.clear();
  }

  /** The first entry that is alive; dead ones before it go. */
  #first(): Entry | undefined {
    let first = this.#queue.peek();
    while (first !== undefined && this.#dueAt.get(first.key) !== first.at) {
      this.#queue.pop();
      first = this.#queue.peek();
    }
    return first;
  }
}
