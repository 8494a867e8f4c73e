/** Differences from the Training Operator that stay: `docs/internals/parity.md` says the same. */
import type { Allowed } from "../compare.ts";

/** Every entry must happen unless it is by chance, and nothing else may. */
export const ALLOWED_V1: readonly Allowed[] = [];
