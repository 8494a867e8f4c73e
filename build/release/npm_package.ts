/** Package of npm: the bundle, its licences, and a wrapper that runs it with the Deno of npm. */
import { RUN_ARGUMENTS } from "../bundle.ts";
import type { ProgramFiles } from "./python_packages.ts";
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

/** Packs the package into a folder. Returns the file's name. */
export async function packNpm(out: string, files: ProgramFiles): Promise<string> {
  const folder = `${files.work}/npm`;
  const own = `${ROOT}clients/npm`;
  await writeFiles(`${folder}/package`, {
    "package.json": `${JSON.stringify(npmManifest(files), undefined, 2)}\n`,
    "README.md": await Deno.readTextFile(`${own}/README.md`),
    "LICENSE": await Deno.readTextFile(`${ROOT}LICENSE`),
    "THIRD_PARTY_LICENSES": files.licenses,
    "launch.json": `${JSON.stringify({ arguments: RUN_ARGUMENTS })}\n`,
    "wrapper.js": await Deno.readTextFile(`${own}/wrapper.js`),
  });
  await Deno.chmod(`${folder}/package/wrapper.js`, 0o755);
  await Deno.copyFile(files.bundle, `${folder}/package/milepost.js`);
  const name = `milepost-npm-${files.version}.tgz`;
  await pack(`${out}/${name}`, { folder, names: ["package"], seconds: files.seconds });
  return name;
}
