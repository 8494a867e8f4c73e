/** Package of npm: the bundle, its licences, and a wrapper that runs it with the Deno of npm. */
import { type ProgramFiles, writeLicenses, writeProgram } from "./program_files.ts";
import { pack, ROOT, writeFiles } from "./tools.ts";

/** Returns the package's manifest. npm takes its provenance only from the repository that it names. */
export function npmManifest(
  { version, deno, repository }: Pick<ProgramFiles, "version" | "deno" | "repository">,
) {
  return {
    name: "milepost",
    version,
    description: "Runs TrainJobs on Kubernetes, or on a laptop, and shows how they are doing",
    license: "Apache-2.0",
    ...repository === undefined
      ? {}
      : { repository: { type: "git", url: `git+https://github.com/${repository}.git` } },
    type: "module",
    bin: { milepost: "wrapper.js" },
    files: ["wrapper.js", "launch.json", "milepost.js", "THIRD_PARTY_LICENSES"],
    engines: { node: ">=18" },
    dependencies: { deno },
  };
}

/** Packs the package into a folder. */
export async function packNpm(out: string, files: ProgramFiles): Promise<void> {
  const folder = `${files.work}/npm`;
  const content = `${folder}/package`;
  const own = `${ROOT}clients/npm`;
  await writeFiles(content, {
    "package.json": `${JSON.stringify(npmManifest(files), undefined, 2)}\n`,
    "README.md": await Deno.readTextFile(`${own}/README.md`),
    "wrapper.js": await Deno.readTextFile(`${own}/wrapper.js`),
  });
  await Deno.chmod(`${content}/wrapper.js`, 0o755);
  await writeLicenses(content, files);
  await writeProgram(content, files);
  const name = `milepost-npm-${files.version}.tgz`;
  await pack(`${out}/${name}`, { folder, names: ["package"], seconds: files.seconds });
}
