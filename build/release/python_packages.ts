/** Wheels of PyPI: `milepost`, the client, and `milepost-server`, the bundle with what runs it. */
import { type ProgramFiles, writeLicenses, writeProgram } from "./program_files.ts";
import { ROOT, tool, writeFiles } from "./tools.ts";

const SERVER = `${ROOT}clients/server`;
const REQUIREMENTS = `${ROOT}clients/python/build-requirements.txt`;

/** Makes the folder that the wheel of the server is built from. */
async function stageServer(files: ProgramFiles): Promise<string> {
  const folder = `${files.work}/server`;
  const read = (path: string) => Deno.readTextFile(`${SERVER}/${path}`);
  const module = "src/milepost_server";
  const project = (await read("pyproject.toml")).replaceAll("VERSION", files.version)
    .replaceAll("DENO", files.deno);
  await writeFiles(folder, {
    "pyproject.toml": project,
    "README.md": await read("README.md"),
    [`${module}/__init__.py`]: await read(`${module}/__init__.py`),
    [`${module}/py.typed`]: "",
  });
  await writeLicenses(folder, files);
  await writeProgram(`${folder}/${module}`, files);
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
