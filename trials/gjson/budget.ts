/** Bounds of one evaluation: whatever path and object say, it ends soon and takes little memory. */

/** Values that one evaluation looks at, at most: a list of 50,000 conditions is still gone through. */
const STEPS = 250_000;
/** Characters of JSON text that one evaluation makes or reads, at most. */
const TEXT = 4_000_000;
/** Nesting of calls, at most; the stack of the runtime takes several times as many. */
const DEPTH = 200;

/** An evaluation went over a bound. */
export class BudgetError extends Error {
  override name = "BudgetError";
}

/** What one evaluation has left. */
export class Budget {
  #steps = STEPS;
  #text = TEXT;
  #depth = 0;

  /** Throws a {@link BudgetError} once there is nothing left. */
  spend(steps: number): void {
    this.#steps -= steps;
    if (this.#steps < 0) throw new BudgetError(`looks at more than ${STEPS} values`);
  }

  /** The same for characters of text. */
  spendText(characters: number): void {
    this.#text -= characters;
    if (this.#text < 0) {
      throw new BudgetError(`makes or reads more than ${TEXT} characters of JSON`);
    }
  }

  /** Runs something one level deeper. */
  deeper<T>(work: () => T): T {
    if (this.#depth >= DEPTH) throw new BudgetError(`goes deeper than ${DEPTH} levels`);
    this.#depth++;
    try {
      return work();
    } finally {
      this.#depth--;
    }
  }
}
