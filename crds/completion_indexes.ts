/** Sets of indexes as text: `0,2-4`, as `completedIndexes` of Kubernetes batch/v1 has them. Pure. */

/** Most indexes that a Job has. */
export const MAX_INDEX = 100_000;

/** Reads `0,2-4`; parts that are not a number or not below `limit` are ignored. */
export function parseIndexes(text: string | undefined, limit = MAX_INDEX): Set<number> {
  const indexes = new Set<number>();
  for (const part of (text ?? "").split(",")) {
    const range = /^(\d{1,6})(?:-(\d{1,6}))?$/.exec(part.trim());
    if (range === null) continue;
    const from = Number(range[1]);
    const to = Math.min(Number(range[2] ?? range[1]), limit - 1);
    for (let index = from; index <= to; index++) indexes.add(index);
  }
  return indexes;
}

/** Writes a set as `0,2-4`: ascending; three neighbours or more are a range. */
export function formatIndexes(indexes: Iterable<number>): string {
  const ranges: { from: number; to: number }[] = [];
  for (const index of [...indexes].sort((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last !== undefined && index <= last.to + 1) last.to = index;
    else ranges.push({ from: index, to: index });
  }
  return ranges.map(({ from, to }) => {
    if (from === to) return `${from}`;
    return from + 1 === to ? `${from},${to}` : `${from}-${to}`;
  }).join(",");
}
