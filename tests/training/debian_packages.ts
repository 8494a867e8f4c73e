/** Debian's packages, unpacked into the user's cache: nothing is installed on the machine. */
import { isInstalled, run } from "../support/command.ts";
import { cached, failureOf } from "../support/python_environment.ts";

/** Downloads what the machine lacks of a package and of all that it needs; returns why it could not. */
async function download(name: string, archives: string): Promise<string | undefined> {
  await Deno.mkdir(`${archives}/partial`, { recursive: true });
  const aptGet = (...args: string[]) =>
    run("apt-get", {
      args: ["-o", `Dir::Cache::archives=${archives}`, "-o", "Debug::NoLocking=1", ...args],
      timeoutMs: 600_000,
    });
  const install = ["install", "--yes", "--quiet", "--no-install-recommends", "--download-only"];
  const result = await aptGet(...install, name);
  if (result.code === 0) return undefined;
  // The machine's lists of packages may be missing, or too old: newer ones, beside them.
  const lists = `${archives}/lists`;
  await Deno.mkdir(`${lists}/partial`, { recursive: true });
  const own = ["-o", `Dir::State::lists=${lists}`, "-o", `Dir::Cache=${archives}`];
  const updated = await aptGet(...own, "update", "--quiet");
  if (updated.code !== 0) return failureOf("apt-get", updated);
  const again = await aptGet(...own, ...install, name);
  return again.code === 0 ? undefined : failureOf("apt-get", again);
}

const UNPACK = `
mkdir -p "$2"
for archive in "$1"/*.deb; do
  [ ! -e "$archive" ] || dpkg-deb --extract "$archive" "$2" || exit 1
done
`;

/** Unpacks a package, and what the machine lacks for it, to `root` in a folder; returns why it could not. */
async function unpack(name: string, folder: string): Promise<string | undefined> {
  const archives = `${folder}/archives`;
  const failure = await download(name, archives);
  if (failure !== undefined) return failure;
  const result = await run("sh", {
    args: ["-c", UNPACK, "unpack", archives, `${folder}/root`],
    timeoutMs: 600_000,
  });
  if (result.code !== 0) return failureOf("dpkg-deb", result);
  await Deno.remove(archives, { recursive: true });
}

/** The folders of libraries below a root, as the loader's search path. */
export async function librariesOf(root: string): Promise<string> {
  const multiarch = await run("gcc", { args: ["-print-multiarch"] })
    .then(({ stdout }) => stdout.trim(), () => "") || `${Deno.build.arch}-linux-gnu`;
  const own = `${root}/usr/lib/${multiarch}`;
  return [own, `${root}/lib/${multiarch}`, `${own}/blas`, `${own}/lapack`, `${root}/usr/lib`]
    .join(":");
}

/** Writes an executable script. */
export async function writeScript(path: string, text: string): Promise<void> {
  await Deno.writeTextFile(path, text, { mode: 0o755 });
}

/** An unpacked package: its root, and a folder `bin` for scripts that start its programs. */
export type Unpacked =
  | { readonly root: string; readonly bin: string }
  | { readonly missing: string };

/**
 * Returns an unpacked package, or why there is none. `finish` writes the scripts, once; what it returns is the
 * reason why the programs cannot be used.
 */
export async function debianPackage(
  name: string,
  finish: (place: { root: string; bin: string }) => Promise<string | undefined>,
): Promise<Unpacked> {
  if (!await isInstalled("apt-get") || !await isInstalled("dpkg-deb")) {
    return { missing: "Debian's package tools are not installed" };
  }
  const made = await cached(`debian/${name}`, async (folder) => {
    const failure = await unpack(name, folder);
    if (failure !== undefined) return failure;
    await Deno.mkdir(`${folder}/bin`);
    return await finish({ root: `${folder}/root`, bin: `${folder}/bin` });
  });
  if ("missing" in made) return made;
  return { root: `${made.folder}/root`, bin: `${made.folder}/bin` };
}
