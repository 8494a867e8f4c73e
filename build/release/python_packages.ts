/** Wheels of PyPI: `milepost`, the client, and `milepost-server`, the bundle with what runs it. */
import { RUN_ARGUMENTS } from "../bundle.ts";
import { ROOT, tool, writeFiles } from "./tools.ts";

const SERVER = `${ROOT}clients/server`;
const REQUIREMENTS = `${ROOT}clients/python/build-requirements.txt`;

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

/** Makes the folder that the wheel of the server is built from. */
async function stageServer({ version, deno, bundle, licenses, work }: ProgramFiles) {
  const folder = `${work}/server`;
  const read = (path: string) => Deno.readTextFile(`${SERVER}/${path}`);
  const module = "src/milepost_server";
  const project = (await read("pyproject.toml")).replaceAll("VERSION", version)
    .replaceAll("DENO", deno);
  await writeFiles(folder, {
    "pyproject.toml": project,
    "README.md": await read("README.md"),
    "LICENSE": await Deno.readTextFile(`${ROOT}LICENSE`),
    "THIRD_PARTY_LICENSES": licenses,
    [`${module}/__init__.py`]: await read(`${module}/__init__.py`),
    [`${module}/py.typed`]: "",
    [`${module}/launch.json`]: `${JSON.stringify({ arguments: RUN_ARGUMENTS })}\n`,
  });
  await Deno.copyFile(bundle, `${folder}/${module}/milepost.js`);
  return folder;
}

/** Builds both wheels into a folder, with tools of PyPI that are pinned by their hashes. */
export async function buildWheels(out: string, files: ProgramFiles): Promise<void> {
  const tools = `${files.work}/python`;
  await tool("python3", { args: ["-m", "venv", tools] });
  const pip = (...args: string[]) =>
    tool(`${tools}/bin/python`, {
      args: ["-m", "pip", "--disable-pip-version-check", ...args],
      env: { SOURCE_DATE_EPOCH: `${files.seconds}`, PYTHONDONTWRITEBYTECODE: "1" },
    });
  await pip("install", "--quiet", "--require-hashes", "-r", REQUIREMENTS);
  const built = ["wheel", "--quiet", "--no-build-isolation", "--no-deps", "--wheel-dir", out];
  for (const folder of [`${ROOT}clients/python`, await stageServer(files)]) {
    await pip(...built, folder);
  }
}
