/** Fields of a view as the address has them: each a parameter, unless it is as at first. Pure. */

/** A field. What the address does not say, or says wrongly, is as at first. */
export interface ViewField<T> {
  readonly parameter: string;
  readonly first: T;
  read(values: readonly string[]): T | undefined;
  write(value: T): string | readonly string[];
}

/** The fields of a view by their names. */
type ViewFields = Readonly<Record<string, ViewField<unknown>>>;
/** What a view has of its fields. */
export type ViewOf<Fields extends ViewFields> = {
  readonly [Name in keyof Fields]: Fields[Name]["first"];
};
/** Parameters of an address. */
export type Pairs = readonly (readonly [name: string, value: string])[];

/** Returns a field by how its parameter's values are read and written. */
export const fieldOf = <T>(
  parameter: string,
  first: T,
  read: ViewField<T>["read"],
  write: ViewField<T>["write"] = String,
): ViewField<T> => ({ parameter, first, read, write });

/** Returns a text of at most so many characters. */
export const textField = (parameter: string, most: number, first = "") =>
  fieldOf(parameter, first, ([text = ""]) => text.slice(0, most) || first);

/** Returns those texts that fit, each once, at most so many. */
export const textsField = (parameter: string, most: number, fits = (text: string) => text !== "") =>
  fieldOf<readonly string[]>(
    parameter,
    [],
    (texts) => [...new Set(texts)].filter(fits).slice(0, most),
    (texts) => texts,
  );

/** Returns one of a list. */
export const choiceField = <T extends string | number, F extends T | "" | undefined>(
  parameter: string,
  list: readonly T[],
  first: F,
) => fieldOf<T | F>(parameter, first, ([text]) => list.find((it) => String(it) === text));

/** Returns a switch that one value turns. */
export const switchField = (parameter: string, turned: string, first = false) =>
  fieldOf(parameter, first, ([text]) => (text === turned) !== first, () => turned);

/** Reads the fields; one that is undefined is absent. */
export function readFields<Fields extends ViewFields>(
  fields: Fields,
  given: URLSearchParams,
): ViewOf<Fields>;
export function readFields(fields: ViewFields, given: URLSearchParams): object {
  const all = Object.entries(fields)
    .map(([name, it]) => [name, it.read(given.getAll(it.parameter)) ?? it.first] as const);
  return Object.fromEntries(all.filter(([, value]) => value !== undefined));
}

/** Returns the fields as they are at first. */
export const firstOf = <Fields extends ViewFields>(fields: Fields) =>
  readFields(fields, new URLSearchParams());

/** Returns the parameters of the fields that are not as at first. */
export function pairsOf<Fields extends ViewFields>(fields: Fields, view: ViewOf<Fields>): Pairs;
export function pairsOf(fields: ViewFields, view: Readonly<Record<string, unknown>>): Pairs {
  return Object.entries(fields).flatMap(([name, { parameter, first, write }]) =>
    view[name] === first ? [] : [write(view[name])].flat().map((it) => [parameter, it] as const)
  );
}
