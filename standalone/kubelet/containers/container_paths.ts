/** Paths and names of a container as its processes see them: real in a mount namespace, else rewritten. */

import type { Container, Pod } from "../../../platform/kube/kubernetes.ts";
import { hostnameOf } from "../names/addresses.ts";
import { ConfigProblem } from "./field_refs.ts";
import type { MountNamespaces } from "../volumes/mount_namespace.ts";
import {
  type MountedPath,
  mountedPaths,
  normalizePath,
  rewritePaths,
} from "../volumes/mount_paths.ts";
import { type NameTable, replaceNames } from "../names/name_replacement.ts";
import type { PodVolumes } from "../volumes/pod_volumes.ts";
import { isBelow, withoutLinks, writePrivateRoot } from "../volumes/private_root.ts";

/** Mount namespaces with the hosts files that go into them. */
export interface RealPaths {
  readonly namespaces: MountNamespaces;
  /** Returns the hosts file of a namespace, with the present names. */
  readonly hostsFile: (namespace: string) => string;
  /** The kubelet's folder, which containers need whatever they mount over it. */
  readonly kubeletFolder: string;
}

/** Input of {@link containerPaths}. */
export interface ContainerPathsContext {
  readonly pod: Pod;
  readonly container: Container;
  /** The pod's folder. */
  readonly folder: string;
  /** The pod's folder in memory. */
  readonly memoryFolder: string;
  readonly volumes: PodVolumes;
  readonly names: NameTable;
  /** Without it paths and names are rewritten. */
  readonly realPaths: RealPaths | undefined;
}

/** Paths and names of one container. */
export type ContainerPaths = Awaited<ReturnType<typeof containerPaths>>;

const DEFAULT_MESSAGE_PATH = "/dev/termination-log";

const messagePathOf = ({ terminationMessagePath }: Container) =>
  normalizePath(terminationMessagePath || DEFAULT_MESSAGE_PATH);

/** Reports whether there is a file or folder, of which this user may know. */
export async function isThere(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}

/**
 * Makes the folders of subPaths in emptyDirs and claims, whose files are the containers' own. Throws a
 * `ConfigProblem` for one that a symbolic link in the volume leads out of it.
 */
async function makeSubPaths({ pod, container, volumes }: ContainerPathsContext): Promise<void> {
  const own = new Set(
    (pod.spec?.volumes ?? [])
      .filter(({ emptyDir, persistentVolumeClaim }) => emptyDir ?? persistentVolumeClaim)
      .map(({ name }) => name),
  );
  for (const { name, mountPath, subPath } of container.volumeMounts ?? []) {
    if (!subPath || !own.has(name)) continue;
    const place = `${volumes.folderOf(name)}/${subPath}`;
    const target = withoutLinks(place);
    const root = withoutLinks(volumes.folderOf(name));
    if (target !== root && !isBelow(target, root)) {
      throw new ConfigProblem(
        `cannot mount "${mountPath}": subPath "${subPath}" leads out of the volume`,
      );
    }
    await Deno.mkdir(place, { recursive: true, mode: 0o700 });
  }
}

/** The container's volumes and its termination message, whose file is made. */
async function mountsOf(
  { container, volumes }: ContainerPathsContext,
  own: string,
): Promise<MountedPath[]> {
  await Deno.mkdir(own, { recursive: true, mode: 0o700 });
  const mountPath = messagePathOf(container);
  const hostPath = `${own}/termination-message`;
  await Deno.writeFile(hostPath, new Uint8Array(), { mode: 0o600 });
  return [
    ...mountedPaths(container.volumeMounts ?? [], volumes.folderOf),
    { mountPath, hostPath },
  ];
}

/** The working folder: a mounted one, one of the machine, or an empty one of the container's own. */
async function workingFolder(
  { container, folder }: ContainerPathsContext,
  own: string,
  mounts: MountedPath[],
): Promise<MountedPath> {
  if (!container.workingDir) return { mountPath: folder, hostPath: folder };
  const mountPath = normalizePath(container.workingDir);
  const mounted = rewritePaths(mountPath, mounts);
  const isMounted = mounted !== mountPath;
  if (!isMounted && await isThere(mountPath)) return { mountPath, hostPath: mountPath };
  const place = { mountPath, hostPath: isMounted ? mounted : `${own}/work` };
  if (!isMounted) mounts.push(place);
  await Deno.mkdir(place.hostPath, { recursive: true, mode: 0o700 });
  return place;
}

/** All that the container has mounted: its own mounts, and those that the manifest does not name. */
function allMounts(
  { pod }: ContainerPathsContext,
  { namespaces, hostsFile, kubeletFolder }: RealPaths,
  mounts: readonly MountedPath[],
): MountedPath[] {
  const taken = new Set(mounts.map(({ mountPath }) => mountPath));
  const hosts = namespaces.hostsMounts(hostsFile(pod.metadata?.namespace ?? ""))
    .filter(({ mountPath }) => !taken.has(mountPath));
  const isCovered = mounts.some(({ mountPath }) => `${kubeletFolder}/`.startsWith(`${mountPath}/`));
  const kubelet = { mountPath: kubeletFolder, hostPath: kubeletFolder };
  return [...mounts, ...hosts, ...isCovered ? [kubelet] : []];
}

/**
 * Prepares paths and names of a container; `texts` are the words and values in which they may stand. Throws a
 * `ConfigProblem` for a mount that cannot be.
 */
export async function containerPaths(
  context: ContainerPathsContext,
  texts: readonly string[],
) {
  const { container, folder, memoryFolder, names, realPaths } = context;
  const own = `${folder}/containers/${container.name}`;
  await makeSubPaths(context);
  const mounts = await mountsOf(context, own);
  const { mountPath, hostPath } = await workingFolder(context, own, mounts);
  const messageFile = `${own}/termination-message`;
  if (realPaths === undefined) {
    return {
      /** Adapts a word of a command, or a variable's value. */
      rewrite: (text: string) => rewritePaths(replaceNames(text, names), mounts),
      /** The working folder as the processes see it. */
      cwd: hostPath,
      /** The path on this machine of a path that the processes see. */
      onMachine: (path: string) => path,
      /** The command that starts a program of the container, with `env`, from the folder `startIn` of this machine. */
      wrap: (command: readonly string[]) => [...command],
      startIn: hostPath,
      /** File in which the program may leave its last words. */
      messageFile,
      /** The same file as the program finds it. */
      messagePath: messageFile,
    };
  }
  // A peer may be named before its pod is there: its address is known from then on.
  for (const text of texts) replaceNames(text, names);
  const root = `${memoryFolder}/mounts/${container.name}`;
  writePrivateRoot(root, allMounts(context, realPaths, mounts));
  const place = { folder: root, cwd: mountPath, hostname: hostnameOf(context.pod) };
  const podIPsOnly = { ...names, services: new Map(), subdomains: new Set<string>() };
  return {
    rewrite: (text: string) => replaceNames(text, podIPsOnly),
    cwd: mountPath,
    onMachine: (path: string) => rewritePaths(path, mounts),
    wrap: (command: readonly string[], env: Readonly<Record<string, string>>) =>
      realPaths.namespaces.wrap(command, place, env),
    startIn: folder,
    messageFile,
    messagePath: messagePathOf(container),
  };
}
