/** Rewriting of mount paths in texts to the volumes' folders on this machine. Pure. */

import type { Container } from "../../../platform/kube/kubernetes.ts";

/** A path in the container's file system, and the path on this machine. */
export interface MountedPath {
  /** Absolute, without a slash at the end. */
  readonly mountPath: string;
  /** Absolute path of the file or folder that stands there. */
  readonly hostPath: string;
}

/** The path without slashes at its end and without doubled ones. */
export function normalizePath(path: string): string {
  const clean = path.replace(/\/{2,}/g, "/").replace(/\/+$/, "");
  return clean === "" ? "/" : clean;
}

/** The mounts of a container, given the folder of each volume. */
export function mountedPaths(
  mounts: NonNullable<Container["volumeMounts"]>,
  volumeFolder: (name: string) => string,
): MountedPath[] {
  return mounts.map((mount) => ({
    mountPath: normalizePath(mount.mountPath),
    hostPath: mount.subPath
      ? normalizePath(`${volumeFolder(mount.name)}/${mount.subPath}`)
      : volumeFolder(mount.name),
  }));
}

/** Characters that go on with the name of a file. */
const NAME_CHARACTER = /[\w.\-+@%~]/;

/** Whether a path may begin here: at the start, after a separator, or after a scheme's `://`. */
function beginsPath(before: string): boolean {
  if (before.endsWith("://")) return true;
  const last = before.at(-1);
  return last === undefined || (last !== "/" && !NAME_CHARACTER.test(last));
}

/** Whether a path's component may end here. */
function endsComponent(next: string | undefined): boolean {
  return next === undefined || !NAME_CHARACTER.test(next);
}

/**
 * The text with every mount path at a path's beginning replaced, the longest first, and only where
 * a component ends: `/data` touches neither `/database` nor `/mnt/data` nor `s3://data`. What was
 * put in is not checked again.
 */
export function rewritePaths(text: string, mounts: readonly MountedPath[]): string {
  const longestFirst = [...mounts].sort((a, b) => b.mountPath.length - a.mountPath.length);
  let result = "";
  let at = 0;
  while (at < text.length) {
    const slash = text.indexOf("/", at);
    if (slash < 0) break;
    result += text.slice(at, slash);
    const before = text.slice(Math.max(0, slash - 3), slash);
    const mount = beginsPath(before)
      ? longestFirst.find(({ mountPath }) =>
        text.startsWith(mountPath, slash) && endsComponent(text[slash + mountPath.length])
      )
      : undefined;
    result += mount?.hostPath ?? "/";
    at = slash + (mount?.mountPath.length ?? 1);
  }
  return result + text.slice(at);
}
