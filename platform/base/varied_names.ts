/** Names whose values differ between maps. Pure. */

/** Returns the names, in the order in which they are first; one that a map does not have differs from any value. */
export function variedNames(all: readonly ReadonlyMap<string, unknown>[]): readonly string[] {
  const names = [...new Set(all.flatMap((it) => [...it.keys()]))];
  return names.filter((name) => new Set(all.map((it) => it.get(name))).size > 1);
}
