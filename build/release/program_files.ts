/** Program that packages hold: the bundle, how Deno runs it, and the licences that go with it. */
import { RUN_ARGUMENTS } from "../bundle.ts";
import { ROOT, writeFiles } from "./tools.ts";

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
