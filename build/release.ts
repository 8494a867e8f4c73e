/**
 * Builder of a release: everything that it publishes, in `dist/release/`.
 *
 *   deno task release --check
 *   deno task release --image REPOSITORY --digest sha256:… --repository OWNER/NAME
 *
 * With `--check` it makes what can be made here, for the image of a clone, and says what was not made and why. Otherwise it
 * fails if anything is missing. It publishes nothing: `.github/workflows/release.yml` does.
 */
import { Command, CommanderError } from "commander";
import { createHash } from "node:crypto";
import { BUNDLE, bundle } from "./bundle.ts";
import { compile, TARGETS } from "./compile.ts";
import { VERSION } from "../app/version.ts";
import { settingsFor } from "../deploy/generate.ts";
import { messageOf } from "../platform/kube/errors.ts";
import { packChart, writeManifests } from "./release/deployment_files.ts";
import { krewManifest } from "./release/krew.ts";
import { notesOf } from "./release/notes.ts";
import { packNpm } from "./release/npm_package.ts";
import { partsOfProgram } from "./release/parts_list.ts";
import { type ProgramFiles, programFiles, writeLicenses } from "./release/program_files.ts";
import { buildWheels } from "./release/python_packages.ts";
import { lockSchema, spdxOf } from "./release/sbom.ts";
import { isThere, pack, ROOT } from "./release/tools.ts";

/** What a release is made for. */
export interface ReleaseOptions {
  readonly check: boolean;
  /** Repository and digest of the image that manifests and chart name. */
  readonly image?: string;
  readonly digest?: string;
  /** Repository on GitHub, whose releases have the files. */
  readonly repository?: string;
  /** Folder of the files; emptied before. */
  readonly output: string;
}

/** What was made, and what was not and why. */
export interface Release {
  readonly files: readonly string[];
  readonly missing: Readonly<Record<string, string>>;
}

const SUMS = "SHA256SUMS";

const sha256 = async (path: string) =>
  createHash("sha256").update(await Deno.readFile(path)).digest("hex");

/** Makes a folder, or empties it of the release before. Throws if it holds anything else. */
async function emptyFolder(folder: string): Promise<void> {
  await Deno.mkdir(folder, { recursive: true });
  const names = [...Deno.readDirSync(folder)].map(({ name }) => name);
  if (names.length > 0 && !names.includes(SUMS)) {
    throw new Error(`--output: ${folder} holds files that are no release's`);
  }
  for (const name of names) await Deno.remove(`${folder}/${name}`, { recursive: true });
}

/** Compiles the executables, packs them for krew, and writes its manifest. */
async function makeExecutables(
  { output, repository = "OWNER/milepost" }: ReleaseOptions,
  program: ProgramFiles,
): Promise<void> {
  const { version, work, seconds } = program;
  const own = Deno.build.arch === "aarch64" ? "arm64" : "amd64";
  // It names the runtime of one machine, which is this one.
  const isGiven = Deno.env.has("DENORT_BIN");
  const archives = [];
  for (const machine of isGiven ? [own] : Object.keys(TARGETS)) {
    const folder = `${work}/${machine}`;
    await Deno.mkdir(folder);
    const executable = `${output}/milepost-linux-${machine}`;
    await compile({ target: machine, output: executable, source: BUNDLE });
    await Deno.copyFile(executable, `${folder}/milepost`);
    await writeLicenses(folder, program);
    const name = `kubectl-milepost-linux-${machine}.tar.gz`;
    const names = ["milepost", "LICENSE", "THIRD_PARTY_LICENSES"];
    await pack(`${output}/${name}`, { folder, names, seconds });
    const url = `https://github.com/${repository}/releases/download/v${version}/${name}`;
    archives.push({ machine, url, sha256: await sha256(`${output}/${name}`) });
  }
  const homepage = `https://github.com/${repository}`;
  await Deno.writeTextFile(
    `${output}/milepost-krew.yaml`,
    krewManifest({ version, homepage, archives }),
  );
  if (isGiven) throw new Error(`DENORT_BIN is the runtime of one machine: only ${own} was made`);
}

/** Makes everything; a part that cannot be made is named with the reason, and the others are made. */
async function makeParts(options: ReleaseOptions, work: string): Promise<Record<string, string>> {
  const { output, check, image, digest } = options;
  await bundle();
  await Deno.copyFile(BUNDLE, `${output}/milepost.js`);
  const parts = await partsOfProgram();
  const files = await programFiles({ repository: options.repository, bundle: BUNDLE, work }, parts);
  const { seconds } = files;
  const deployment = { version: VERSION, image, digest, seconds, work };
  const write = (name: string, text: string) => Deno.writeTextFile(`${output}/${name}`, text);
  const makers: Record<string, () => Promise<unknown>> = {
    licences: () => write("THIRD_PARTY_LICENSES", files.licenses),
    executables: () => makeExecutables(options, files),
    "npm package": () => packNpm(output, files),
    wheels: () => buildWheels(output, files),
    manifests: async () => {
      if (!await isThere("kubectl")) throw new Error("kubectl is not on the PATH");
      await writeManifests(output, deployment);
    },
    chart: () => packChart(output, deployment),
    "bill of materials": async () => {
      const lock = lockSchema.parse(JSON.parse(await Deno.readTextFile(`${ROOT}deno.lock`)));
      const product = { version: VERSION, deno: files.deno, seconds };
      const document = spdxOf(parts, lock, product);
      await write(
        `milepost-${VERSION}.spdx.json`,
        `${JSON.stringify(document, undefined, 2)}\n`,
      );
    },
    notes: async () => {
      const changelog = await Deno.readTextFile(`${ROOT}CHANGELOG.md`);
      await write("NOTES.md", notesOf(changelog, VERSION, { orUnreleased: check }));
    },
  };
  const missing: Record<string, string> = {};
  for (const [name, make] of Object.entries(makers)) {
    await make().catch((error: unknown) => {
      missing[name] = messageOf(error);
    });
  }
  return missing;
}

/** Makes a release. Throws if the program cannot be bundled, or an image is not named as it has to be. */
export async function makeRelease(options: ReleaseOptions): Promise<Release> {
  const { output, check, image, digest, repository } = options;
  if (!check && (image === undefined || digest === undefined || repository === undefined)) {
    throw new Error("a release needs --image, --digest and --repository; without them, --check");
  }
  settingsFor(image, digest);
  await emptyFolder(output);
  const work = await Deno.makeTempDir({ prefix: "milepost-release-" });
  try {
    const missing = await makeParts(options, work);
    const files = [...Deno.readDirSync(output)].map(({ name }) => name).sort();
    const sums = await Promise.all(
      files.map(async (name) => `${await sha256(`${output}/${name}`)}  ${name}\n`),
    );
    await Deno.writeTextFile(`${output}/${SUMS}`, sums.join(""));
    return { files: [...files, SUMS], missing };
  } finally {
    await Deno.remove(work, { recursive: true });
  }
}

async function main(args: string[]): Promise<number> {
  const say = (text: string) => Deno.stdout.write(new TextEncoder().encode(text));
  const command = new Command("release")
    .option("--check", "make what can be made here, and say what was not made", false)
    .option("--image <repository>", "image that manifests and chart name, without a tag")
    .option("--digest <digest>", "digest of that image")
    .option("--repository <name>", "repository on GitHub, as OWNER/NAME")
    .option("--output <folder>", "folder of the files, emptied before", `${ROOT}dist/release`)
    .allowExcessArguments(false)
    .exitOverride().configureOutput({ outputError: () => {} });
  try {
    const options = command.parse(args, { from: "user" }).opts<ReleaseOptions>();
    const { files, missing } = await makeRelease(options);
    await say(files.map((name) => `made: ${options.output}/${name}\n`).join(""));
    for (const [name, why] of Object.entries(missing)) await say(`not made: ${name}: ${why}\n`);
    return options.check || Object.keys(missing).length === 0 ? 0 : 1;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    await Deno.stderr.write(new TextEncoder().encode(`release: ${messageOf(error)}\n`));
    return error instanceof CommanderError ? 2 : 1;
  }
}

if (import.meta.main) Deno.exit(await main(Deno.args));
