/** Grid search: every combination of choices once, in a fixed order. Pure. */

/** A parameter of a grid. */
export interface GridParameter {
  readonly name: string;
  readonly choices: readonly string[];
}

/** Returns the number of points of a grid, which no double may hold. */
export function gridSize(parameters: readonly GridParameter[]): bigint {
  return parameters.reduce((size, { choices }) => size * BigInt(choices.length), 1n);
}

/**
 * Returns the point of an index, in the order of the parameters; undefined if the grid has no such point. Of the names in
 * their order the last one varies fastest, and choices come as they are listed.
 */
export function gridPoint(
  parameters: readonly GridParameter[],
  index: number,
): string[] | undefined {
  if (BigInt(index) >= gridSize(parameters)) return undefined;
  const values = new Map<string, string>();
  let rest = index;
  const fastestFirst = [...parameters].sort((a, b) => a.name < b.name ? 1 : -1);
  for (const { name, choices } of fastestFirst) {
    values.set(name, choices[rest % choices.length] ?? "");
    rest = Math.floor(rest / choices.length);
  }
  return parameters.map(({ name }) => values.get(name) ?? "");
}
