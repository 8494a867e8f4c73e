/**
 * Private root of a container: a tree of mount points that mirrors the machine's root as far as mounts need
 * it, and the tables (fstab) by which the machine's folders and the container's mounts come onto it.
 */
import { rmSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { ConfigProblem } from "../containers/field_refs.ts";
import { ifThere } from "../../../platform/base/if_there.ts";
import type { MountedPath } from "./mount_paths.ts";

/** Names in the folder of {@link writePrivateRoot}. */
export const PRIVATE_ROOT = {
  /** The tree that becomes the root. */
  tree: "root",
  /** A folder of every machine, on which the machine's root is mounted for the moment of its exchange. */
  oldRoot: "dev",
  /** Table of the machine's folders, and that of the container's mounts. */
  machineTable: "machine.fstab",
  mountTable: "mounts.fstab",
} as const;

/** Folders in which the kernel keeps what is in them: there is no place for other mount points. */
const KERNEL_FOLDERS = ["/proc", "/sys"];
const MOST_LINKS = 40;

type Kind = "file" | "folder";

/** A mount whose place was looked up: without symbolic links, as far as the machine has it. */
interface Placed extends MountedPath {
  readonly target: string;
  readonly kind: Kind;
  /** What the machine has there. */
  readonly found: Kind | undefined;
}

const infoOf = (path: string) => ifThere(() => Deno.lstatSync(path));

function kindOf(info: Deno.FileInfo | undefined): Kind | undefined {
  return info && (info.isDirectory ? "folder" : "file");
}

/** Reports whether a path is below a folder, of which neither has links. */
export function isBelow(path: string, folder: string): boolean {
  return folder === "/" ? path !== "/" : path.startsWith(`${folder}/`);
}

/** The folders above a path, the root first. */
function foldersAbove(path: string): string[] {
  const above = dirname(path);
  return above === path ? [] : [...foldersAbove(above), above];
}

/** The path with the symbolic links of its existing part followed. Throws a {@link ConfigProblem} for too many. */
export function withoutLinks(path: string, links = 0): string {
  let at = "";
  const parts = resolve(path).split("/").filter(Boolean);
  for (const [index, part] of parts.entries()) {
    const next = `${at}/${part}`;
    if (!infoOf(next)?.isSymlink) {
      at = next;
      continue;
    }
    if (links >= MOST_LINKS) throw new ConfigProblem(`too many symbolic links in "${path}"`);
    const leadsTo = resolve(at || "/", Deno.readLinkSync(next), ...parts.slice(index + 1));
    return withoutLinks(leadsTo, links + 1);
  }
  return at || "/";
}

/** Looks a mount's source and place up. Throws a {@link ConfigProblem} if it cannot be mounted. */
function placed(mount: MountedPath): Placed {
  const target = withoutLinks(mount.mountPath);
  const source = ifThere(() => Deno.statSync(mount.hostPath));
  if (source === undefined) {
    throw new ConfigProblem(`cannot mount "${mount.mountPath}": the volume has no such path`);
  }
  if (KERNEL_FOLDERS.some((folder) => target === folder || isBelow(target, folder))) {
    throw new ConfigProblem(
      `cannot mount "${mount.mountPath}": nothing can be mounted in /proc or /sys`,
    );
  }
  const kind = source.isDirectory ? "folder" : "file";
  return { ...mount, target, kind, found: kindOf(infoOf(target)) };
}

/** Makes an empty file or folder, with the folders above it. */
function makePlace(path: string, kind: Kind): void {
  Deno.mkdirSync(kind === "folder" ? path : dirname(path), { recursive: true });
  if (kind === "file") Deno.writeFileSync(path, new Uint8Array());
}

/** A line of an fstab, which separates its fields by blanks. */
function tableLine(source: string, target: string): string {
  const field = (path: string) =>
    path.replace(/[\s\\#]/g, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, "0")}`);
  return `${field(source)} ${field(target)} none rbind 0 0\n`;
}

/** A mirror of one of the machine's folders: returns the table's lines for what is in it. */
function mirror(
  folder: string,
  tree: string,
  mirrored: ReadonlySet<string>,
  places: ReadonlySet<string>,
): string {
  Deno.mkdirSync(`${tree}${folder}`, { recursive: true });
  const entries = ifThere(() => [...Deno.readDirSync(folder)]) ?? [];
  return entries.map(({ name, isDirectory, isSymlink }) => {
    const path = `${folder === "/" ? "" : folder}/${name}`;
    if (mirrored.has(path) || places.has(path)) return "";
    if (isSymlink) {
      Deno.symlinkSync(Deno.readLinkSync(path), `${tree}${path}`);
      return "";
    }
    makePlace(`${tree}${path}`, isDirectory ? "folder" : "file");
    return tableLine(path, `${tree}${path}`);
  }).join("");
}

/** Mounts by their place, the outer ones first. */
function inOrder(mounts: readonly MountedPath[]): Placed[] {
  return mounts.map(placed).sort((a, b) => a.target < b.target ? -1 : 1);
}

/**
 * Writes tree and tables into `folder`, replacing what is there. A folder of the machine in which a mount
 * point is missing is mirrored: its entries are the machine's, and the missing one is added. A mount
 * point inside another mount is made in that one's files. Throws a {@link ConfigProblem} for a mount
 * that cannot be.
 */
export function writePrivateRoot(folder: string, mounts: readonly MountedPath[]): void {
  const tree = `${folder}/${PRIVATE_ROOT.tree}`;
  const all = inOrder(mounts);
  const mirrored = new Set(["/"]);
  const places = new Map<string, Kind>();
  for (const mount of all) {
    const { target, kind, found } = mount;
    const outer = all.findLast((other) => isBelow(target, other.target));
    if (outer) {
      const inside = `${outer.hostPath}${target.slice(outer.target.length)}`;
      if (infoOf(inside) === undefined) makePlace(inside, kind);
    } else {
      if (found !== kind) { for (const above of foldersAbove(target)) mirrored.add(above); }
      places.set(target, kind);
    }
  }
  rmSync(folder, { recursive: true, force: true });
  const own = new Set(places.keys());
  const machine = [...mirrored].sort().map((above) => mirror(above, tree, mirrored, own));
  for (const [target, kind] of places) {
    if (mirrored.has(dirname(target))) makePlace(`${tree}${target}`, kind);
  }
  const self = tableLine(tree, tree);
  const write = (name: string, text: string) => Deno.writeTextFileSync(`${folder}/${name}`, text);
  write(PRIVATE_ROOT.machineTable, self + machine.join(""));
  const lines = all.map(({ hostPath, target }) => tableLine(hostPath, `${tree}${target}`));
  write(PRIVATE_ROOT.mountTable, lines.join(""));
}
