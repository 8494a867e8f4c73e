/** Parameters of a request's query. */
import { badRequest } from "../objects/status_error.ts";

/** Says if a parameter is set to `1` or `true`. */
export function isTrue(query: URLSearchParams, name: string): boolean {
  return /^(1|true)$/i.test(query.get(name) ?? "");
}

/** Returns a parameter that is a whole number; undefined if it is not given. Throws 400. */
export function wholeNumber(query: URLSearchParams, name: string): number | undefined {
  const given = query.get(name) ?? "";
  if (given === "") return undefined;
  if (/^\d{1,15}$/.test(given)) return Number(given);
  throw badRequest(`Invalid value: "${given}": ${name} must be a whole number`);
}
