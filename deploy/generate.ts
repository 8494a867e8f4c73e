/**
 * Generator of the files that `kubectl apply -k` and `helm install` take, from the builders beside it.
 *
 *   deno task manifests                       writes the files
 *   deno task manifests --check               writes nothing; exits with 1 if a file is not current
 *   deno task manifests --image REPOSITORY    writes them for this version's image in that repository
 */
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { dashboard } from "./dashboard.ts";
import { helmFiles } from "./helm.ts";
import { katibFiles } from "./katib.ts";
import { DEFAULTS, imageIn, type Settings } from "./installation_settings.ts";
import { type Files, kustomizeFiles } from "./kustomize.ts";

const FOLDER = fileURLToPath(new URL("./", import.meta.url));
/** Folders that hold generated files only: an unexpected file in them is stale. */
const OWN = ["kustomize", "katib", "helm/milepost"];

/** All generated files, by their paths below `deploy/`. */
export function generatedFiles(settings: Settings = DEFAULTS): Files {
  const below = (folder: string, files: Files) =>
    Object.entries(files).map(([path, text]) => [`${folder}/${path}`, text]);
  return Object.fromEntries([
    ...below("kustomize", kustomizeFiles(settings)),
    ...below("katib", katibFiles()),
    ...below("helm/milepost", helmFiles(settings)),
    ["dashboard.json", `${JSON.stringify(dashboard(), null, 2)}\n`],
  ]);
}

async function* filesIn(folder: string): AsyncGenerator<string> {
  try {
    for await (const { name, isDirectory } of Deno.readDir(`${FOLDER}${folder}`)) {
      if (isDirectory) yield* filesIn(`${folder}/${name}`);
      else yield `${folder}/${name}`;
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

async function textOf(path: string): Promise<string | undefined> {
  try {
    return await Deno.readTextFile(`${FOLDER}${path}`);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** Files that are missing, differ or should not be there, by their paths below `deploy/`. */
export async function outdatedFiles(wanted: Files = generatedFiles()): Promise<string[]> {
  const outdated: string[] = [];
  for (const [path, text] of Object.entries(wanted)) {
    if (await textOf(path) !== text) outdated.push(path);
  }
  for (const folder of OWN) {
    for await (const path of filesIn(folder)) if (!(path in wanted)) outdated.push(path);
  }
  return outdated;
}

async function write(outdated: readonly string[], wanted: Files): Promise<void> {
  for (const path of outdated) {
    const text = wanted[path];
    const file = `${FOLDER}${path}`;
    if (text === undefined) await Deno.remove(file);
    else {
      await Deno.mkdir(file.slice(0, file.lastIndexOf("/")), { recursive: true });
      await Deno.writeTextFile(file, text);
    }
  }
}

/** Returns the settings of this version's image in a repository. Throws if a manifest cannot name it. */
export function settingsFor(repository: string | undefined, digest?: string): Settings {
  if (digest !== undefined && !/^sha256:[0-9a-f]{64}$/.test(digest)) {
    throw new Error(`--digest: must be sha256: and 64 hexadecimal digits, not "${digest}"`);
  }
  if (repository === undefined) return DEFAULTS;
  if (!/^[a-z0-9.-]+(:\d+)?(\/[a-z0-9._-]+)+$/.test(repository)) {
    throw new Error(
      `--image: must be a registry and a path in lower case without a tag, such as ` +
        `ghcr.io/owner/milepost, not "${repository}"`,
    );
  }
  return { ...DEFAULTS, image: imageIn(repository, digest) };
}

if (import.meta.main) {
  const { values: { check, image } } = parseArgs({
    args: Deno.args,
    options: { check: { type: "boolean", default: false }, image: { type: "string" } },
  });
  const wanted = generatedFiles(settingsFor(image));
  const outdated = await outdatedFiles(wanted);
  if (!check) await write(outdated, wanted);
  const word = check ? "not current" : "written";
  const lines = outdated.map((path) => `${word}: deploy/${path}\n`);
  await Deno.stdout.write(new TextEncoder().encode(lines.join("") || "all current\n"));
  if (check && outdated.length > 0) Deno.exit(1);
}
