/** Paths of lines in pictures, and that of a sparkline: the last values in a box. Pure. */

const round = (value: number) => Number(value.toFixed(1));

/** Returns the path through points of a picture; it breaks where there is none. */
export const linePath = (points: readonly (readonly [x: number, y: number] | undefined)[]) =>
  points.map((point, index) =>
    point && `${points[index - 1] ? "L" : "M"}${round(point[0])} ${round(point[1])}`
  ).join("");

/** Returns the path through points of time and value; undefined if there are fewer than two. */
export function sparkPath(
  points: readonly (readonly [timeMs: number, value: number])[],
  { width, height }: { readonly width: number; readonly height: number },
): string | undefined {
  const shown = points.filter(([time, value]) => Number.isFinite(time) && Number.isFinite(value));
  if (shown.length < 2) return undefined;
  const times = shown.map(([time]) => time);
  const values = shown.map(([, value]) => value);
  const [from, to] = [Math.min(...times), Math.max(...times)];
  const [low, high] = [Math.min(...values), Math.max(...values)];
  // A line in the middle if all values are the same; room for its width at the edges.
  const inner = height - 2;
  const x = (time: number) => to === from ? width / 2 : (time - from) / (to - from) * width;
  const y = (value: number) =>
    high === low ? height / 2 : 1 + (high - value) / (high - low) * inner;
  return linePath(shown.map(([time, value]) => [x(time), y(value)]));
}
