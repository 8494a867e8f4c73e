/** Priority queue of keys by their due times: a binary heap with lazy deletion. */

interface Entry {
  readonly key: string;
  readonly at: number;
}

/** Moves the last entry to its place. */
function siftUp(heap: Entry[]): void {
  for (let index = heap.length - 1; index > 0;) {
    const parent = (index - 1) >> 1;
    if (!swapIfLess(heap, index, parent)) return;
    index = parent;
  }
}

/** Removes the first entry. */
function pop(heap: Entry[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  heap[0] = last;
  for (let index = 0;;) {
    const left = 2 * index + 1;
    const smaller = isLess(heap[left + 1], heap[left]) ? left + 1 : left;
    if (!swapIfLess(heap, smaller, index)) return;
    index = smaller;
  }
}

/** Whether both are there, and the first is due before the second. */
const isLess = (one: Entry | undefined, other: Entry | undefined): boolean =>
  one !== undefined && other !== undefined && one.at < other.at;

/** Swaps the entries if `a` is due before `b`. */
function swapIfLess(heap: Entry[], a: number, b: number): boolean {
  const [first, second] = [heap[a], heap[b]];
  if (first === undefined || second === undefined || first.at >= second.at) return false;
  heap[a] = second;
  heap[b] = first;
  return true;
}

/** Keys that are due later; each once, at its earliest time. */
export class DelayedKeys {
  readonly #heap: Entry[] = [];
  /** Time at which each key is due; entries of the heap with other times are obsolete. */
  readonly #dueAt = new Map<string, number>();

  get size(): number {
    return this.#dueAt.size;
  }

  /** Sets when the key is due; an earlier time that is set already stays. */
  set(key: string, at: number): void {
    const known = this.#dueAt.get(key);
    if (known !== undefined && known <= at) return;
    this.#dueAt.set(key, at);
    this.#heap.push({ key, at });
    siftUp(this.#heap);
  }

  /** The time of the key that is due first. */
  nextAt(): number | undefined {
    return this.#first()?.at;
  }

  /** Removes and returns the keys that are due at `now`, earliest first. */
  takeDue(now: number): string[] {
    const due: string[] = [];
    for (let entry = this.#first(); entry !== undefined && entry.at <= now; entry = this.#first()) {
      pop(this.#heap);
      this.#dueAt.delete(entry.key);
      due.push(entry.key);
    }
    return due;
  }

  clear(): void {
    this.#heap.length = 0;
    this.#dueAt.clear();
  }

  /** The first entry that is alive; dead ones before it go. */
  #first(): Entry | undefined {
    const heap = this.#heap;
    while (heap[0] !== undefined && this.#dueAt.get(heap[0].key) !== heap[0].at) pop(heap);
    return heap[0];
  }
}
