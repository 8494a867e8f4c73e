/** Program that packages hold: the bundle, how Deno runs it, and the licences that go with it. */
import { VERSION } from "../../app/version.ts";
import { RUN_ARGUMENTS } from "../bundle.ts";
import { thirdPartyLicenses } from "./licenses.ts";
import type { Part } from "./parts_list.ts";
import { commitSeconds, ROOT, writeFiles } from "./tools.ts";

/** What the packages are made of. */
export interface ProgramFiles {
  readonly version: string;
  /** Repository on GitHub, as OWNER/NAME, if that is known. */
  readonly repository: string | undefined;
  /** Version of Deno that runs the bundle. */
  readonly deno: string;
  /** Path of the bundle. */
  readonly bundle: string;
  /** Licences of the packages that it holds. */
  readonly licenses: string;
  /** Seconds since the epoch that files have. */
  readonly seconds: number;
  /** Folder for what is in between. */
  readonly work: string;
}

/** Returns what packages of this version are made of, beside the bundle that was made and the folder for what is in between. */
export async function programFiles(
  given: Pick<ProgramFiles, "bundle" | "repository" | "work">,
  parts: readonly Part[],
): Promise<ProgramFiles> {
  const licenses = await thirdPartyLicenses(parts);
  const seconds = await commitSeconds();
  return { ...given, version: VERSION, deno: Deno.version.deno, licenses, seconds };
}

/** Writes the bundle into a folder, and beside it what its wrapper reads: Deno's arguments. */
export async function writeProgram(folder: string, { bundle }: ProgramFiles): Promise<void> {
  const launch = `${JSON.stringify({ arguments: RUN_ARGUMENTS })}\n`;
  await writeFiles(folder, { "launch.json": launch });
  await Deno.copyFile(bundle, `${folder}/milepost.js`);
}

/** Writes into a folder the licence of Milepost and those of others. */
export async function writeLicenses(folder: string, { licenses }: ProgramFiles): Promise<void> {
  await writeFiles(folder, {
    "LICENSE": await Deno.readTextFile(`${ROOT}LICENSE`),
    "THIRD_PARTY_LICENSES": licenses,
  });
}
