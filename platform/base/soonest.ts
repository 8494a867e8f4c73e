/** The soonest of several times, of which some may not be set. Pure. */

/** Returns the least of the numbers; undefined if none is given. */
export function soonest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
}
