/** Priority queue of keys by their due times: a binary heap with lazy deletion. */

interface Entry {
  readonly key: string;
  readonly at: number;
}

/** Keys that are due later; each once, at its earliest time. */
export interface DelayedKeys {
  /** Sets when the key is due; an earlier time that is set already stays. */
  set(key: string, at: number): void;
  /** The time of the key that is due first. */
  nextAt(): number | undefined;
  /** Removes and returns the keys that are due at `now`, earliest first. */
  takeDue(now: number): string[];
  clear(): void;
  readonly size: number;
}

function siftUp(heap: Entry[], start: number): void {
  let index = start;
  while (index > 0) {
    const parent = (index - 1) >> 1;
    if (!swapIfLess(heap, index, parent)) return;
    index = parent;
  }
}

function siftDown(heap: Entry[]): void {
  let index = 0;
  for (;;) {
    const left = 2 * index + 1;
    const right = left + 1;
    const smaller = less(heap, right, left) ? right : left;
    if (!swapIfLess(heap, smaller, index)) return;
    index = smaller;
  }
}

function less(heap: Entry[], a: number, b: number): boolean {
  const [first, second] = [heap[a], heap[b]];
  return first !== undefined && second !== undefined && first.at < second.at;
}

/** Swaps the entries if `a` is due before `b`. */
function swapIfLess(heap: Entry[], a: number, b: number): boolean {
  const [first, second] = [heap[a], heap[b]];
  if (first === undefined || second === undefined || first.at >= second.at) return false;
  heap[a] = second;
  heap[b] = first;
  return true;
}

/** No keys yet. */
export function createDelayedKeys(): DelayedKeys {
  const heap: Entry[] = [];
  /** Time at which each key is due; entries of the heap with other times are obsolete. */
  const dueAt = new Map<string, number>();

  function pop(): Entry | undefined {
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined) return undefined;
    if (heap.length > 0) {
      heap[0] = last;
      siftDown(heap);
    }
    return first;
  }

  /** The first entry that is alive; dead ones before it go. */
  function first(): Entry | undefined {
    while (heap[0] !== undefined && dueAt.get(heap[0].key) !== heap[0].at) pop();
    return heap[0];
  }

  return {
    set(key, at) {
      const known = dueAt.get(key);
      if (known !== undefined && known <= at) return;
      dueAt.set(key, at);
      heap.push({ key, at });
      siftUp(heap, heap.length - 1);
    },
    nextAt: () => first()?.at,
    takeDue(now) {
      const due: string[] = [];
      for (let entry = first(); entry !== undefined && entry.at <= now; entry = first()) {
        pop();
        dueAt.delete(entry.key);
        due.push(entry.key);
      }
      return due;
    },
    clear() {
      heap.length = 0;
      dueAt.clear();
    },
    get size() {
      return dueAt.size;
    },
  };
}
