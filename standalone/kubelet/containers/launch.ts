/** Launch of a container: its environment, command and folders as a program to start. */
import { TERMINATION_MESSAGE_ENV } from "../../../crds/pod_names.ts";
import type { Container } from "../../../platform/kube/kubernetes.ts";
import { hostnameOf } from "../names/addresses.ts";
import {
  type ContainerPaths,
  containerPaths,
  type ContainerPathsContext,
  isThere,
} from "./container_paths.ts";
import { buildCommand, buildEnvironment, type DataKind, namesOf } from "./environment.ts";
import { ConfigProblem, type PodFacts } from "./field_refs.ts";
import { exceptPods } from "./inherited_environment.ts";
import { StartProblem } from "../processes/processes.ts";
import type { ObjectSource } from "../volumes/volume_files.ts";

/** Input of {@link prepareLaunch}. */
export interface LaunchContext extends ContainerPathsContext {
  readonly objects: ObjectSource;
  readonly facts: PodFacts;
  /** Variables that every container has; its own go before them. Holds PATH. */
  readonly baseEnv: Readonly<Record<string, string>>;
  /** Variables of Services, to which a container's own may refer. */
  readonly services: Readonly<Record<string, string>>;
}

/** Reads the objects of a kind that the environment names, all at once. */
async function readObjects<T>(
  container: Container,
  kind: DataKind,
  read: (name: string) => Promise<T>,
): Promise<(name: string) => T | undefined> {
  const names = [...namesOf(container, kind)];
  const found = await Promise.all(names.map(async (name) => [name, await read(name)] as const));
  const byName = new Map(found);
  return (name) => byName.get(name);
}

/** The program's file: as given if it has a slash, else the first on the search path. */
async function findProgram(
  program: string,
  { cwd, onMachine }: ContainerPaths,
  searchPath: string,
): Promise<string> {
  if (program.includes("/")) {
    const path = program.startsWith("/") ? program : `${cwd}/${program}`;
    if (await isThere(onMachine(path))) return path;
    throw new StartProblem(`cannot start "${program}": there is no such file on this machine`);
  }
  for (const folder of searchPath.split(":").filter((part) => part.startsWith("/"))) {
    const path = `${folder}/${program}`;
    const info = await Deno.stat(onMachine(path)).catch(() => undefined);
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
export async function prepareLaunch(context: LaunchContext) {
  const { pod, container, folder, facts, names, baseEnv } = context;
  const [configMap, secret] = await Promise.all([
    readObjects(container, "configMap", context.objects.configMap),
    readObjects(container, "secret", context.objects.secret),
  ]);
  const objects = { configMap, secret };
  const raw = buildEnvironment({ pod, container, objects, facts, services: context.services });
  const words = buildCommand(container, { ...baseEnv, ...raw });
  if (words.length === 0) throw new ConfigProblem("no command specified");
  const paths = await containerPaths(context, [...words, ...Object.values(raw)]);
  const { rewrite, wrap } = paths;
  const own = Object.entries(raw).map(([name, value]) => [name, rewrite(value)] as const);
  const env: Record<string, string> = {
    HOSTNAME: hostnameOf(pod),
    HOME: `${folder}/home`,
    TMPDIR: `${folder}/tmp`,
    [TERMINATION_MESSAGE_ENV]: paths.messagePath,
    ...exceptPods(baseEnv, names),
    ...Object.fromEntries(own),
  };
  const searchPath = [env.PATH, baseEnv.PATH].filter(Boolean).join(":");
  const [program = "", ...args] = words.map(rewrite);
  return {
    command: wrap([await findProgram(program, paths, searchPath), ...args], env),
    cwd: paths.startIn,
    env,
    /** File in which the program may leave its last words. */
    messageFile: paths.messageFile,
    /** Adapts another command, of a probe or a hook, as this one was adapted. */
    adapt: (command: readonly string[]) => wrap(command.map(rewrite), env),
    /** Returns the command that runs another one, as it is, where this one runs. */
    enter: (command: readonly string[]) => wrap(command, env),
  };
}

/** A program, ready to start. */
export type Launch = Awaited<ReturnType<typeof prepareLaunch>>;
