/** Limits of the evaluation of a GJSON path, on time and memory. */

/** Most values that one evaluation visits: enough for a list of 50,000 conditions. */
const STEPS = 250_000;
/** Most characters of JSON text that one evaluation writes or reads. */
const TEXT = 4_000_000;
/** Deepest nesting of calls; the runtime's stack allows several times as many. */
const DEPTH = 200;

/** An evaluation that exceeded a limit. */
export class BudgetError extends Error {
  override name = "BudgetError";
}

/** Rest of the limits of one evaluation. */
export class Budget {
  #steps = STEPS;
  #text = TEXT;
  #depth = 0;

  /** Throws a {@link BudgetError} if there is nothing left. */
  spend(steps: number): void {
    this.#steps -= steps;
    if (this.#steps < 0) throw new BudgetError(`visits more than ${STEPS} values`);
  }

  /** Does the same for characters of text. */
  spendText(characters: number): void {
    this.#text -= characters;
    if (this.#text < 0) {
      throw new BudgetError(`writes or reads more than ${TEXT} characters of JSON`);
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
