/** Evaluation of GJSON paths. */
import { Budget, BudgetError } from "./budget.ts";
import { type Head, headOf } from "./head.ts";
import { isObject, Members, membersOf, valuesAt } from "./gjson_values.ts";
import type { GjsonPath } from "./path.ts";
import { fitsPattern } from "./pattern.ts";
import { meets } from "./query.ts";
import { type ArrayStep, arrayStep, type KeyStep, keyStep } from "./steps.ts";

/** The value that a path leads to, undefined if there is none. Objects may be {@link Members}. */
export type Evaluation = { readonly value: unknown } | { readonly problem: string };

/**
 * Follows a path in a JSON value as GJSON 1.14.1 does, by which Katib evaluates conditions. Ends soon and
 * never throws: beyond the limits of {@link Budget} it returns a problem, a phrase that begins with a verb.
 * Unlike GJSON it never looks for JSON inside a string.
 */
export function evaluate(path: GjsonPath, value: unknown): Evaluation {
  try {
    return { value: new Walk().get(value, path.text) };
  } catch (error) {
    if (error instanceof BudgetError) return { problem: error.message };
    throw error;
  }
}

/** Results of one path so far, while it is followed from one value. */
interface Search {
  value: unknown;
  /** The path that applies to the value when the search is over. */
  pipe: string | undefined;
}

/** One evaluation: its limits, and the steps that it has parsed already. */
class Walk {
  readonly #budget = new Budget();
  readonly #heads = new Map<string, Head>();
  readonly #keySteps = new Map<string, KeyStep>();
  readonly #arraySteps = new Map<string, ArrayStep>();

  /** Returns what the path leads to from a value, with all its pipes followed. */
  get(start: unknown, path: string): unknown {
    return this.#budget.deeper(() => {
      let value = start;
      let rest: string | undefined = path;
      while (rest !== undefined) {
        this.#budget.spend(1);
        const head: Head = remembered(this.#heads, rest, headOf);
        if (head.kind !== "none") {
          value = this.#make(head, value);
          rest = head.rest;
          continue;
        }
        const search: Search = { value: undefined, pipe: undefined };
        if (rest.startsWith("..")) {
          this.#inArray(search, value === undefined ? [] : [value], rest.slice(2));
        } else {
          this.#within(search, value, rest);
        }
        value = search.value;
        rest = search.pipe;
      }
      return value;
    });
  }

  /** Returns the value that the beginning of a path makes of another value. */
  #make(head: Exclude<Head, { kind: "none" }>, value: unknown): unknown {
    switch (head.kind) {
      case "modifier":
        return head.modifier(value, head.argument, this.#budget);
      case "literal":
        return head.value;
      case "multipath": {
        const found = head.selectors
          .map(({ name, path }) => [name, this.get(value, path)] as const)
          .filter(([, it]) => it !== undefined);
        return head.isObject ? new Members(found) : found.map(([, it]) => it);
      }
    }
  }

  /** Follows a path into an object or array. Returns whether the search is over. */
  #within(search: Search, value: unknown, path: string): boolean {
    if (Array.isArray(value)) return this.#inArray(search, value, path);
    return isObject(value) && this.#inObject(search, value, path);
  }

  #inObject(search: Search, object: object, path: string): boolean {
    const step = remembered(this.#keySteps, path, keyStep);
    if (step.pipe !== undefined) search.pipe = step.pipe;
    return this.#candidates(object, step).some((value) => this.#take(search, value, step.next));
  }

  #candidates(object: object, step: KeyStep): readonly unknown[] {
    if (!step.isPattern) return valuesAt(object, step.key, this.#budget);
    return membersOf(object, this.#budget)
      .filter(([key]) => fitsPattern(key, step.key, this.#budget))
      .map(([, value]) => value);
  }

  /** Ends the search with a value, or follows the rest of the path into it. Returns whether it is over. */
  #take(search: Search, value: unknown, next: string | undefined): boolean {
    if (next !== undefined) {
      return this.#budget.deeper(() => this.#within(search, value, next));
    }
    search.value = value;
    return true;
  }

  #inArray(search: Search, array: readonly unknown[], path: string): boolean {
    const step = remembered(this.#arraySteps, path, arrayStep);
    if (step.pipe !== undefined) search.pipe = step.pipe;
    switch (step.kind) {
      case "count":
        search.value = array.length;
        return true;
      case "index":
        return step.index < array.length && this.#take(search, array[step.index], step.next);
      case "each":
        return this.#ofEach(search, array, step);
      case "query":
        return step.all
          ? this.#allThatMeet(search, array, step)
          : this.#firstThatMeets(search, array, step);
      case "nothing":
        return false;
    }
  }

  #ofEach(
    search: Search,
    array: readonly unknown[],
    step: ArrayStep & { kind: "each" },
  ): boolean {
    if (step.after.right !== undefined) search.pipe = step.after.right;
    search.value = array.map((it) => this.get(it, step.after.left)).filter((it) =>
      it !== undefined
    );
    return true;
  }

  #firstThatMeets(
    search: Search,
    array: readonly unknown[],
    step: ArrayStep & { kind: "query" },
  ): boolean {
    const index = array.findIndex((it) => this.#meets(it, step));
    if (index < 0) return false;
    search.value = this.#answer(search, array[index], step);
    return true;
  }

  /** Observed in GJSON: such a query does not end the search, and a value that was found before stays. */
  #allThatMeet(
    search: Search,
    array: readonly unknown[],
    step: ArrayStep & { kind: "query" },
  ): boolean {
    const answers = array
      .filter((it) => this.#meets(it, step))
      .map((it) => this.#answer(search, it, step))
      .filter((it) => it !== undefined);
    if (search.value === undefined) search.value = answers;
    return false;
  }

  #meets(element: unknown, { query }: ArrayStep & { kind: "query" }): boolean {
    if (typeof element === "object" && element !== null) {
      return meets(this.get(element, query.path), query, this.#budget);
    }
    this.#budget.spend(1);
    return query.path === "" && meets(element, query, this.#budget);
  }

  /** Returns what the path after a query finds in an element; that path's first pipe applies to them all. */
  #answer(search: Search, element: unknown, { after }: ArrayStep & { kind: "query" }): unknown {
    if (after === undefined) return element;
    if (after.right !== undefined) search.pipe = after.right;
    return this.get(element, after.left);
  }
}

function remembered<T>(known: Map<string, T>, path: string, read: (path: string) => T): T {
  const step = known.get(path) ?? read(path);
  known.set(path, step);
  return step;
}
