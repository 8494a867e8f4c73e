/** Reader of answers: by a table of their fields, which their type checks, whatever comes becomes what the page shows, or nothing. Pure. */

import type { Setting } from "../../../crds/wire/row.ts";
import { asList, asObject, jsonOfText } from "../../../platform/base/json.ts";

/** Makes what the page shows of whatever comes. */
export type Read<T> = (value: unknown) => T;

/** Returns a text; of anything else the empty one. */
export const textOf = (value: unknown): string =>
  typeof value === "string" ? value : typeof value === "number" ? String(value) : "";
/** Returns a text; undefined if there is none, or it is empty. */
export const someText = (value: unknown): string | undefined => textOf(value) || undefined;
/** Returns a number, or undefined. */
export const numberOf = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isFinite(value) ? value : undefined;
/** Returns a number; of anything else 0. */
export const countOf = (value: unknown): number => numberOf(value) ?? 0;
/** Returns milliseconds since the epoch of a time such as `2026-01-31T12:00:00Z`. */
export function timeOf(value: unknown): number | undefined {
  const ms = typeof value === "string" ? Date.parse(value) : NaN;
  return Number.isNaN(ms) ? undefined : ms;
}

/** Returns a reader of lists. */
export const listWith = <T>(read: Read<T>): Read<readonly T[]> => (value) =>
  asList(value).map(read);
/** Reads the settings of a job. */
export const readSettings = listWith((value): Setting => {
  const [name, text] = asList(value).map(textOf);
  return [name ?? "", text ?? ""];
});
/** Returns a reader of what may be absent. */
export const ifThere = <T>(read: Read<T>): Read<T | undefined> => (value) =>
  value === undefined || value === null ? undefined : read(value);

/** A type of an answer as it may come: a newer server knows more states and kinds, and null is nothing. */
type Loose<T> = T extends string ? string
  : T extends null ? undefined
  : T extends readonly (infer Item)[] ? readonly Loose<Item>[]
  : T extends object ? { readonly [Name in keyof T]?: Loose<T[Name]> }
  : T;

/** Readers of those fields of an answer that the page shows; `createdMs` is the time `created` in milliseconds. */
export type FieldsOf<T> =
  & { readonly [Name in keyof T]?: Read<Loose<T[Name]>> }
  & { readonly [Name in keyof T & string as `${Name}Ms`]?: Read<number | undefined> };

type Readers = Readonly<Record<string, Read<unknown>>>;

/** Returns a reader of objects by those of their fields, such as `{…} satisfies FieldsOf<JobRow>`. */
export function fields<Shape extends Readers>(
  shape: Shape,
): Read<{ readonly [Name in keyof Shape]: ReturnType<Shape[Name]> }>;
export function fields(shape: Readers): Read<object> {
  const readers = Object.entries(shape)
    .map(([name, read]) => ({ name, from: name.replace(/Ms$/, ""), read }));
  return (value) => {
    const given = asObject(value);
    const found: Record<string, unknown> = {};
    for (const { name, from, read } of readers) {
      const one = read(given[from]);
      if (one !== undefined) found[name] = one;
    }
    return found;
  };
}

/** Returns the message of a `metav1.Status`, or what stands in for it. */
export const statusMessage = (text: string, otherwise: string): string =>
  textOf(asObject(jsonOfText(text)).message) || otherwise;
