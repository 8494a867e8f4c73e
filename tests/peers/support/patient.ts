/** Waiting for several programs at once, which share the cores of a small machine. */
import { until } from "../../support/until.ts";

/** A bound for a busy machine, not a measure. */
const PATIENCE_MS = 180_000;

/** Like {@link until}, with more time. */
export function patiently<T>(
  what: string,
  look: () => T | undefined | false | Promise<T | undefined | false>,
): Promise<T> {
  return until(what, look, { timeoutMs: PATIENCE_MS });
}
