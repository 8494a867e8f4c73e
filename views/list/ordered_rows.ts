/** Rows of all jobs in one order, which is kept as jobs change: to sort them anew takes a hundred times as long. */
import type { JobKind } from "../../crds/job_kind.ts";
import type { JobRow } from "../../crds/wire/row.ts";
import { compareRows, type SortedRow, type SortOrder, sortValue } from "./row_sorting.ts";

/** A row with its kind. */
export interface KindedRow {
  readonly kind: JobKind;
  readonly row: JobRow;
}

/** A row with what it is compared by. */
type KeyedRow = KindedRow & SortedRow;

/** The rows. */
export class OrderedRows {
  #rows: readonly KeyedRow[];
  /** By UID, what has changed since the rows were put in order; undefined: it is gone. */
  readonly #changed = new Map<string, KindedRow | undefined>();

  constructor(all: Iterable<KindedRow>, private readonly order: SortOrder) {
    this.#rows = this.#sorted(all);
  }

  /** Notes that there is another row of that UID, or none any more. Returns how many are noted. */
  change(uid: string, row: KindedRow | undefined): number {
    this.#changed.set(uid, row);
    return this.#changed.size;
  }

  /** Returns the rows in order. */
  rows(): readonly KindedRow[] {
    if (this.#changed.size === 0) return this.#rows;
    const kept = this.#rows.filter(({ row }) => !this.#changed.has(row.uid));
    const added = this.#sorted([...this.#changed.values()].filter((it) => it !== undefined));
    const rows: KeyedRow[] = [];
    let from = 0;
    for (const it of added) {
      const place = this.#placeOf(it, kept, from);
      for (const before of kept.slice(from, place)) rows.push(before);
      rows.push(it);
      from = place;
    }
    for (const rest of kept.slice(from)) rows.push(rest);
    this.#changed.clear();
    return this.#rows = rows;
  }

  #sorted(all: Iterable<KindedRow>): KeyedRow[] {
    const keyed = Array.from(all, (it) => ({ ...it, value: sortValue(it.row, this.order) }));
    return keyed.sort((one, other) => compareRows(one, other, this.order));
  }

  /** The place of the first row, from a place on, that does not stand before the one given. */
  #placeOf(row: KeyedRow, rows: readonly KeyedRow[], from: number): number {
    let [low, high] = [from, rows.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const at = rows[middle];
      if (at !== undefined && compareRows(at, row, this.order) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
