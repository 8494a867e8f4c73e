/** Differences from upstream's Trainer that stay: `docs/internals/parity.md` says the same, row by row. */
import { ALLOWED_ANSWERS } from "./allowed_answers.ts";
import { ALLOWED_COURSES } from "./allowed_courses.ts";
import { ALLOWED_OBJECTS } from "./allowed_objects.ts";
import type { Allowed } from "./compare.ts";

/** Every entry must happen, and nothing else may. */
export const ALLOWED_TRAINER: readonly Allowed[] = [
  ...ALLOWED_OBJECTS,
  ...ALLOWED_ANSWERS,
  ...ALLOWED_COURSES,
];
