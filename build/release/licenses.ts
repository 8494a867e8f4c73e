/**
 * Licences of the packages that the bundle holds, as one text that goes with it.
 *
 *   deno run -A build/release/licenses.ts FILE
 */
import { type Part, partsOfProgram } from "./parts_list.ts";

const LICENSE_FILE = /^(licen[cs]e|copying|notice)([.-].*)?$/i;
const LINE = "-".repeat(80);

async function textsIn(folder: string): Promise<readonly string[]> {
  const names = (await Array.fromAsync(Deno.readDir(folder)))
    .filter(({ name, isFile }) => isFile && LICENSE_FILE.test(name)).map(({ name }) => name).sort();
  return await Promise.all(names.map((name) => Deno.readTextFile(`${folder}/${name}`)));
}

/** Returns the licences of packages, each text once under all that have it. */
export async function thirdPartyLicenses(parts: readonly Part[]): Promise<string> {
  const byText = new Map<string, string[]>();
  for (const { name, version, license, folder } of parts) {
    const texts = await textsIn(folder);
    const text = texts.join("\n").trim() || `${license} (the package has no text of it)`;
    byText.set(text, [...byText.get(text) ?? [], `${name} ${version} (${license})`]);
  }
  const sections = [...byText].map(([text, names]) =>
    `${LINE}\n${names.join("\n")}\n${LINE}\n\n${text}\n`
  );
  return `Milepost holds code of these packages.\n\n${sections.join("\n")}`;
}

if (import.meta.main) {
  const [file = ""] = Deno.args;
  await Deno.writeTextFile(file, await thirdPartyLicenses(await partsOfProgram()));
}
