/** Launch of a container: its environment, command and folders as a program to start. */
import type { Container, Pod } from "../../crds/kubernetes.ts";
import { buildCommand, buildEnvironment, referencesOf } from "./environment.ts";
import { ConfigProblem, type PodFacts } from "./field_refs.ts";
import { exceptPods } from "./inherited_environment.ts";
import { type MountedPath, mountedPaths, normalizePath, rewritePaths } from "./mount_paths.ts";
import { type NameTable, replaceNames } from "./name_replacement.ts";
import { StartProblem } from "./processes.ts";
import type { ObjectSource } from "./volume_files.ts";
import type { PodVolumes } from "./pod_volumes.ts";

/** A program, ready to start. */
export interface Launch {
  readonly command: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** File in which the program may leave its last words. */
  readonly messageFile: string;
  /** Rewrites another command, of a probe or a hook, as this one was rewritten. */
  readonly adapt: (command: readonly string[]) => string[];
}

/** Input of {@link prepareLaunch}. */
export interface LaunchContext {
  readonly pod: Pod;
  readonly container: Container;
  /** The pod's folder. */
  readonly folder: string;
  readonly volumes: PodVolumes;
  readonly objects: ObjectSource;
  readonly facts: PodFacts;
  readonly names: NameTable;
  /** Variables that every container has; its own go before them. Holds PATH. */
  readonly baseEnv: Readonly<Record<string, string>>;
}

const DEFAULT_MESSAGE_PATH = "/dev/termination-log";

async function isThere(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}

/** Reads all ConfigMaps and Secrets that the environment names. */
async function readReferences(container: Container, objects: ObjectSource) {
  const { configMaps, secrets } = referencesOf(container);
  const maps = await Promise.all(
    [...configMaps].map(async (name) => [name, await objects.configMap(name)] as const),
  );
  const hidden = await Promise.all(
    [...secrets].map(async (name) => [name, await objects.secret(name)] as const),
  );
  const byName = { maps: new Map(maps), secrets: new Map(hidden) };
  return {
    configMap: (name: string) => byName.maps.get(name),
    secret: (name: string) => byName.secrets.get(name),
  };
}

/** Makes the folders of subPaths in emptyDirs. */
async function makeSubPaths({ pod, container, volumes }: LaunchContext): Promise<void> {
  const empty = new Set(
    (pod.spec?.volumes ?? []).filter(({ emptyDir }) => emptyDir).map(({ name }) => name),
  );
  for (const { name, subPath } of container.volumeMounts ?? []) {
    if (!subPath || !empty.has(name)) continue;
    await Deno.mkdir(`${volumes.folderOf(name)}/${subPath}`, { recursive: true, mode: 0o700 });
  }
}

/** Folder of the container's own files, apart from its volumes. */
async function ownPaths(context: LaunchContext): Promise<MountedPath[]> {
  const { container, folder } = context;
  const own = `${folder}/containers/${container.name}`;
  await Deno.mkdir(own, { recursive: true, mode: 0o700 });
  const messagePath = normalizePath(container.terminationMessagePath || DEFAULT_MESSAGE_PATH);
  const paths = [{ mountPath: messagePath, hostPath: `${own}/termination-message` }];
  await Deno.writeFile(`${own}/termination-message`, new Uint8Array(), { mode: 0o600 });
  return paths;
}

/** The working folder: a mounted one, one of the machine, or an empty one of the container's own. */
async function workingFolder(
  { container, folder }: LaunchContext,
  mounts: MountedPath[],
): Promise<string> {
  if (!container.workingDir) return folder;
  const wanted = normalizePath(container.workingDir);
  const rewritten = rewritePaths(wanted, mounts);
  if (rewritten === wanted && await isThere(wanted)) return wanted;
  const path = rewritten === wanted ? `${folder}/containers/${container.name}/work` : rewritten;
  if (rewritten === wanted) mounts.push({ mountPath: wanted, hostPath: path });
  await Deno.mkdir(path, { recursive: true, mode: 0o700 });
  return path;
}

/** The program's file: as given if it has a slash, else the first on the search path. */
async function findProgram(program: string, cwd: string, searchPath: string): Promise<string> {
  if (program.includes("/")) {
    const path = program.startsWith("/") ? program : `${cwd}/${program}`;
    if (await isThere(path)) return path;
    throw new StartProblem(`cannot start "${program}": there is no such file on this machine`);
  }
  for (const folder of searchPath.split(":").filter((part) => part.startsWith("/"))) {
    const path = `${folder}/${program}`;
    const info = await Deno.stat(path).catch(() => undefined);
    if (info?.isFile && ((info.mode ?? 0) & 0o111) !== 0) return path;
  }
  throw new StartProblem(
    `cannot start "${program}": not found on PATH; images are not pulled, so the program must be ` +
      "installed on this machine",
  );
}

/**
 * The program of a container. Throws a `ConfigProblem` for references that lead nowhere, a
 * `StartProblem` if the program does not exist, and errors of the client.
 */
export async function prepareLaunch(context: LaunchContext): Promise<Launch> {
  const { pod, container, folder, facts, names, baseEnv, volumes } = context;
  const objects = await readReferences(container, context.objects);
  const raw = buildEnvironment({ pod, container, objects, facts });
  const words = buildCommand(container, { ...baseEnv, ...raw });
  if (words.length === 0) throw new ConfigProblem("no command specified");
  await makeSubPaths(context);
  const mounts = [
    ...mountedPaths(container.volumeMounts ?? [], volumes.folderOf),
    ...await ownPaths(context),
  ];
  const cwd = await workingFolder(context, mounts);
  const rewrite = (text: string) => rewritePaths(replaceNames(text, names), mounts);
  const own = Object.entries(raw).map(([name, value]) => [name, rewrite(value)] as const);
  const env: Record<string, string> = {
    HOSTNAME: pod.spec?.hostname || (pod.metadata?.name ?? ""),
    HOME: `${folder}/home`,
    TMPDIR: `${folder}/tmp`,
    ...exceptPods(baseEnv, names),
    ...Object.fromEntries(own),
  };
  const searchPath = [env.PATH, baseEnv.PATH].filter(Boolean).join(":");
  const [program = "", ...args] = words.map(rewrite);
  return {
    command: [await findProgram(program, cwd, searchPath), ...args],
    cwd,
    env,
    messageFile: `${folder}/containers/${container.name}/termination-message`,
    adapt: (command) => command.map(rewrite),
  };
}
