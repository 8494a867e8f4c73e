/** Words of a stop whose grace is running, which page and terminal share. Pure. */

/**
 * Returns the words for a job that is being stopped, such as `stopping, 18 s left`; `durationText` writes whole seconds as
 * the page or the terminal does. `stopsByMs`: the `stopsBy` of its row, in milliseconds since the epoch.
 */
export function stoppingText(
  stopsByMs: number,
  nowMs: number,
  durationText: (seconds: number) => string,
): string {
  const seconds = Math.floor((stopsByMs - nowMs) / 1000);
  return seconds > 0 ? `stopping, ${durationText(seconds)} left` : "stopping now";
}
