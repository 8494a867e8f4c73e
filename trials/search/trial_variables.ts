/** Variables by which a trial's trainer gets the values of its parameters. Pure. */
import { PARAMETER_ENV_PREFIX } from "../../crds/names.ts";

/** Returns the variables of a parameter: in capital letters, as the KEP has it, and as the name is written. */
export function variablesOf(parameter: string): string[] {
  const spellings = new Set([parameter.toUpperCase(), parameter]);
  return [...spellings].map((it) => `${PARAMETER_ENV_PREFIX}${it}`);
}
