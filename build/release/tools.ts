/** Programs that a release is made with, and the time that stands for now in what they make. */
import { fileURLToPath } from "node:url";

/** Root of the repository. */
export const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Options of {@link tool}. */
export interface ToolOptions {
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs a program to its end. Returns what it prints; throws with what it complains of. */
export async function tool(program: string, { args, cwd = ROOT, env }: ToolOptions) {
  const { success, stdout, stderr } = await new Deno.Command(program, {
    args: [...args],
    cwd,
    env: { NO_COLOR: "1", ...env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes).trim();
  if (success) return text(stdout);
  const lines = `${text(stdout)}\n${text(stderr)}`.trim().split("\n").slice(-3).join(" ");
  throw new Error(`${program} ${args[0] ?? ""} failed: ${lines}`);
}

/** Returns whether a program is on the search path. */
export async function isThere(program: string): Promise<boolean> {
  return await tool("sh", { args: ["-c", `command -v ${program}`] }).then(() => true, () => false);
}

/** Returns the time of the commit, in seconds since the epoch, so that a release made again is the same. */
export async function commitSeconds(): Promise<number> {
  const given = Deno.env.get("SOURCE_DATE_EPOCH");
  return Number(given ?? await tool("git", { args: ["log", "-1", "--format=%ct"] }));
}

/** Packs what is in `folder` under `names` into a tar.gz that is the same whenever and by whomever it is packed. */
export async function pack(
  file: string,
  { folder, names, seconds }: {
    readonly folder: string;
    readonly names: readonly string[];
    readonly seconds: number;
  },
): Promise<void> {
  const same = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", `--mtime=@${seconds}`];
  const args = [...same, "--mode=u+rw,go+r-w,a+X", "-czf", file, "-C", folder, ...names];
  await tool("tar", { args, env: { GZIP: "-n" } });
}

/** Writes files by their paths below a folder, which is made. */
export async function writeFiles(
  folder: string,
  files: Readonly<Record<string, string>>,
): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    const file = `${folder}/${path}`;
    await Deno.mkdir(file.slice(0, file.lastIndexOf("/")), { recursive: true });
    await Deno.writeTextFile(file, text);
  }
}
