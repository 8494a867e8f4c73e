/** Packages of others that are part of the program: of its sources and of the page's, with where their files are. */
import { z } from "zod";
import { ROOT, tool } from "./tools.ts";

/** Entries whose modules the bundle holds: the page's front is in it as text. */
const ENTRIES = ["main.ts", "page/front/main.tsx", "page/front/stream_worker.ts"];

const infoSchema = z.object({
  modules: z.array(z.object({ npmPackage: z.string().optional() })),
  npmPackages: z.record(
    z.string(),
    z.object({
      name: z.string(),
      version: z.string(),
      dependencies: z.array(z.string()),
      localPath: z.string(),
    }),
  ),
});

const manifestSchema = z.object({
  license: z.union([z.string(), z.object({ type: z.string() })]).optional(),
});

/** A package of others. */
export interface Part {
  /** Its key in the lock file. */
  readonly key: string;
  readonly name: string;
  readonly version: string;
  /** Keys of the packages that it needs. */
  readonly dependencies: readonly string[];
  /** Folder of its files. */
  readonly folder: string;
  /** Its licence as an SPDX expression; NOASSERTION if its manifest says none. */
  readonly license: string;
}

async function licenseOf(folder: string): Promise<string> {
  const { license } = manifestSchema.parse(
    JSON.parse(await Deno.readTextFile(`${folder}/package.json`)),
  );
  return (typeof license === "string" ? license : license?.type) ?? "NOASSERTION";
}

/** Returns the packages that the program's modules reach, by their names. */
export async function partsOfProgram(): Promise<readonly Part[]> {
  // Their files are read, which a cache that is cold does not have.
  await tool(Deno.execPath(), { args: ["install", "--frozen", "--entrypoint", ...ENTRIES] });
  const reached = new Map<string, Part>();
  for (const entry of ENTRIES) {
    const cwd = entry.startsWith("page/front/") ? `${ROOT}page/front` : ROOT;
    const args = ["info", "--json", `${ROOT}${entry}`];
    const info = infoSchema.parse(JSON.parse(await tool(Deno.execPath(), { args, cwd })));
    const left = info.modules.flatMap(({ npmPackage }) => npmPackage ?? []);
    for (let key = left.pop(); key !== undefined; key = left.pop()) {
      const found = info.npmPackages[key];
      if (found === undefined || reached.has(key)) continue;
      const { localPath: folder, ...own } = found;
      reached.set(key, { key, ...own, folder, license: await licenseOf(folder) });
      left.push(...found.dependencies);
    }
  }
  return [...reached.values()].sort((one, other) => one.key < other.key ? -1 : 1);
}
