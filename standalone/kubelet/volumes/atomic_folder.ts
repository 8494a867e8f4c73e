/** Atomic update of a folder: a reader sees all old files or all new ones. */
import { Buffer } from "node:buffer";
import type { VolumeFiles } from "./volume_files.ts";
import { removeIfThere } from "../processes/removal.ts";

/** The link that stands for the present set; replaced by one rename. */
const DATA = "..data";

/** Whether two sets hold the same files. */
export function sameFiles(a: VolumeFiles | undefined, b: VolumeFiles): boolean {
  if (a === undefined || a.size !== b.size) return false;
  return [...b].every(([path, file]) => {
    const old = a.get(path);
    return old !== undefined && old.mode === file.mode && Buffer.compare(old.data, file.data) === 0;
  });
}

/** First components of the paths: what stands in the folder itself. */
function topLevel(files: VolumeFiles): Set<string> {
  return new Set([...files.keys()].map((path) => path.split("/")[0] ?? path));
}

async function writeSet(folder: string, files: VolumeFiles): Promise<void> {
  await Deno.mkdir(folder, { mode: 0o700 });
  for (const [path, { data, mode }] of files) {
    const slash = path.lastIndexOf("/");
    if (slash > 0) {
      await Deno.mkdir(`${folder}/${path.slice(0, slash)}`, { recursive: true, mode: 0o700 });
    }
    // Only the kubelet's user may read mounted files, even if the mode allows more.
    const own = mode & 0o700 || 0o400;
    await Deno.writeFile(`${folder}/${path}`, data, { mode: 0o600 });
    await Deno.chmod(`${folder}/${path}`, own);
  }
}

async function isLinkIntoSet(path: string): Promise<boolean> {
  const target = await Deno.readLink(path).catch(() => ""); // It is no link.
  return target.startsWith(`${DATA}/`);
}

/**
 * Puts the files into `folder` in place of those of an earlier call: each is a link into a hidden set, and
 * the sets are swapped by one rename, as Kubernetes does it. `version` names the set; take another each
 * time. What others have put there stays, such as the mount point of another volume: its removal would
 * unmount that volume in the containers that run.
 */
export async function replaceFolder(
  folder: string,
  files: VolumeFiles,
  version: string,
): Promise<void> {
  await Deno.mkdir(folder, { recursive: true, mode: 0o700 });
  const set = `..${version}`;
  await removeIfThere(`${folder}/${set}`, { recursive: true });
  await writeSet(`${folder}/${set}`, files);
  await removeIfThere(`${folder}/${DATA}.new`);
  await Deno.symlink(set, `${folder}/${DATA}.new`);
  await Deno.rename(`${folder}/${DATA}.new`, `${folder}/${DATA}`);
  const names = topLevel(files);
  for await (const { name } of Deno.readDir(folder)) {
    if (name === DATA || name === set || names.has(name)) continue;
    const isOwn = name.startsWith("..") || await isLinkIntoSet(`${folder}/${name}`);
    if (isOwn) await Deno.remove(`${folder}/${name}`, { recursive: true });
  }
  for (const name of names) {
    const there = await Deno.lstat(`${folder}/${name}`).catch(() => undefined);
    if (!there) await Deno.symlink(`${DATA}/${name}`, `${folder}/${name}`);
  }
}
