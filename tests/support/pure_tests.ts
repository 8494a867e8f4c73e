/** Test files that, with all they import, cannot touch the machine. */
import { importsOf } from "./imports.ts";

/** Code that opens a socket, starts a program, changes a file, or asks the system what it has. */
const EFFECTS = [
  /\bDeno\.(serve|listen\w*|connect\w*|createHttpClient|Command|kill)\b/,
  /\bDeno\.(write\w*|open\w*|makeTemp\w*|mkdir|remove|rename|copyFile|chmod)\b/,
  /\bDeno\.(systemMemoryInfo|networkInterfaces|hostname|uid|gid)\b/,
  /(?<![.\w])fetch\(/,
  /\bfrom "(node:(child_process|dgram|http|http2|https|net|sqlite|tls)|@grpc\/grpc-js)"/,
];

const withoutComments = (text: string) => text.replaceAll(/\/\*[^]*?\*\/|^\s*\/\/.*$/gm, "");
const withoutTypes = (text: string) => text.replaceAll(/^import type [^;]*;$/gm, "");

/** Says of each file whether it is pure: free of effects, like all whose values it imports. */
export class Purity {
  readonly #read: (path: string) => string;
  readonly #known = new Map<string, boolean>();

  /** `read` returns the text of a file by its path from the root of the repository. */
  constructor(read: (path: string) => string) {
    this.#read = read;
  }

  isPure(path: string): boolean {
    const known = this.#known.get(path);
    if (known !== undefined) return known;
    const text = withoutComments(this.#read(path));
    this.#known.set(path, true); // Until the rest of a cycle has been read.
    const pure = !EFFECTS.some((effect) => effect.test(withoutTypes(text))) &&
      importsOf({ path, text })
        .filter(({ target, typesOnly }) => !typesOnly && target.endsWith(".ts"))
        .every(({ target }) => this.isPure(target));
    this.#known.set(path, pure);
    return pure;
  }
}

const root = new URL("../../", import.meta.url);

function* testFiles(folder: string): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(new URL(folder, root))) {
    if (isDirectory) yield* testFiles(`${folder}${name}/`);
    else if (name.endsWith("_test.ts")) yield `${folder}${name}`;
  }
}

/** A file that is not there is named in a text only, as in a test of this very rule. */
function readIfThere(path: string): string {
  try {
    return Deno.readTextFileSync(new URL(path, root));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  }
}

/** Returns the paths of all test files, sorted, and which of them are pure. */
export function findTests(): { readonly all: readonly string[]; readonly pure: readonly string[] } {
  const purity = new Purity(readIfThere);
  const all = [...testFiles("tests/")].sort();
  return { all, pure: all.filter((path) => purity.isPure(path)) };
}
