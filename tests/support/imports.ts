/** Imports of TypeScript files, read from their text. */

/** A file with its path from the root of the repository. */
export interface Source {
  readonly path: string;
  readonly text: string;
}

/** A file that is taken in as text, such as an example, is no code and stands beside the house. */
const IMPORT =
  /(?:^|\n)\s*(?:import|export)\b([^;]*?)\bfrom\s+"([^"]+)"(?! with \{ type: "text" \})|\bimport\(\s*"([^"]+)"/g;

/** One import of a file. */
export interface Import {
  /** As it is written; relative ones as a path from the root. */
  readonly target: string;
  /** The import names only types, so that nothing of it is there when the program runs. */
  readonly typesOnly: boolean;
}

/** Says whether the clause between `import` and `from` names types alone. */
function namesTypesOnly(clause: string): boolean {
  if (/^type\b/.test(clause)) return true;
  const names = /^\{([^}]*)\}$/.exec(clause)?.[1]?.split(",").map((name) => name.trim());
  return names?.filter((name) => name !== "").every((name) => name.startsWith("type ")) ?? false;
}

/** Returns the imports of a file. */
export function importsOf({ path, text }: Source): Import[] {
  return [...text.matchAll(IMPORT)].map((match) => {
    const target = match[2] ?? match[3] ?? "";
    return {
      target: target.startsWith(".")
        ? new URL(target, new URL(path, "file:///")).pathname.slice(1)
        : target,
      typesOnly: namesTypesOnly(match[1]?.trim() ?? ""),
    };
  });
}
