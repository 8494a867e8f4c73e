/**
 * Mount namespaces of containers: util-linux's programs give a process its private root, and the last of them
 * becomes the container's program, so that no process stands between it and the kubelet.
 */
import { messageOf } from "../../../platform/kube/errors.ts";
import { machineFile, withHostsFileFirst } from "../names/hosts_file.ts";
import type { MountedPath } from "./mount_paths.ts";
import { PRIVATE_ROOT, writePrivateRoot } from "./private_root.ts";
import { ifThere } from "../../../platform/base/if_there.ts";
import { removeIfThere } from "../processes/removal.ts";

/** The user whose processes run. */
export interface ProcessUser {
  readonly uid: number;
  readonly gid: number;
}

/** Place in which a container's command runs. */
export interface PrivatePlace {
  /** The folder to which the private root was written. */
  readonly folder: string;
  /** The working folder, as the command sees it. */
  readonly cwd: string;
  /** The host name that the command sees. */
  readonly hostname: string;
}

/** Mount namespaces that this machine allows. */
export interface MountNamespaces {
  /** The command that runs `command` in that place; `env` is the environment in which it will be started. */
  wrap(
    command: readonly string[],
    place: PrivatePlace,
    env?: Readonly<Record<string, string>>,
  ): string[];
  /** Mounts by which a hosts file is where the processes' resolvers look first. */
  hostsMounts(hostsFile: string): MountedPath[];
}

/** The reason why there are none. */
export interface NoMountNamespaces {
  readonly reason: string;
}

const NSSWITCH = "/etc/nsswitch.conf";
const SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin";
/** How long the attempt at start may take, in milliseconds. */
const ATTEMPT_MS = 10_000;
const { tree: TREE, oldRoot: OLD_ROOT, machineTable, mountTable } = PRIVATE_ROOT;

/**
 * Arguments: the search path of the programs here, the folder, the working folder, the host name, the command.
 * An entry of the machine that cannot be mounted is left out; the container's own mounts must be there. Where
 * the machine has no program to set the host name, its own stays.
 */
const SCRIPT = `
own=$PATH
PATH=$1
mount -a -T "$2/${machineTable}" 2>/dev/null
mount -a -T "$2/${mountTable}" && cd "$2/${TREE}" && pivot_root . ${OLD_ROOT} &&
  umount -l /${OLD_ROOT} && cd "$3" || {
  echo "milepost: cannot set up the mounts of this container" >&2
  exit 128
}
hostname "$4" 2>/dev/null
PATH=$own
shift 4
exec "$@"
`;

const isFile = (path: string) => ifThere(() => Deno.statSync(path).isFile) ?? false;

/** The file of a program on a search path; its name if there is none. */
function fileOf(program: string, searchPath: string): string {
  return searchPath.split(":").filter((folder) => folder.startsWith("/"))
    .map((folder) => `${folder}/${program}`).find(isFile) ?? program;
}

/** A name that shells take for a variable's; some shells drop the others from the environment. */
const SHELL_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * A command that gives its variables with other names, such as `app.properties`, to `command`. Until the
 * program starts they are in its arguments.
 */
function withEveryName(
  command: readonly string[],
  env: Readonly<Record<string, string>>,
  searchPath: string,
): readonly string[] {
  const dropped = Object.entries(env).filter(([name]) => !SHELL_NAME.test(name));
  if (dropped.length === 0) return command;
  const words = dropped.map(([name, value]) => `${name}=${value}`);
  return [fileOf("env", searchPath), "--", ...words, ...command];
}

/**
 * The chain of commands. Root needs no user namespace. Another user is root in a user namespace while
 * mounting, and then the same user again in a second one, without any rights of root.
 */
export function mountingCommand(
  { uid, gid }: ProcessUser,
  searchPath: string = SYSTEM_PATH,
): MountNamespaces["wrap"] {
  const unshare = fileOf("unshare", searchPath);
  const isRoot = uid === 0;
  const asRoot = isRoot ? [] : ["--user", "--map-root-user"];
  const asUser = [unshare, "--user", `--map-user=${uid}`, `--map-group=${gid}`, "--"];
  return (command, { folder, cwd, hostname }, env = {}) => [
    ...[unshare, ...asRoot, "--uts", "--mount", "--propagation", "slave", "--"],
    ...[fileOf("sh", searchPath), "-c", SCRIPT, "milepost-mounts", searchPath],
    ...[folder, cwd, hostname],
    ...isRoot ? [] : asUser,
    ...withEveryName(command, env, searchPath),
  ];
}

/** What the check finds in the hosts file. */
const PROBE = { address: "127.64.0.1", name: "milepost-probe.svc.cluster.local" } as const;
const PROBE_PATH = "/milepost-probe/file";

/** Checks all that is promised, from inside. Arguments: the user's id. */
const CHECK = `
[ -e ${PROBE_PATH} ] || { echo "a mount is missing" >&2; exit 1; }
[ "$(id -u)" = "$1" ] || { echo "the user is not the same" >&2; exit 1; }
[ "$(getent hosts ${PROBE.name} | cut -d " " -f 1)" = ${PROBE.address} ] ||
  { echo "names are not looked up in /etc/hosts" >&2; exit 1; }
`;

/** Runs the check in a private root; returns why it failed. */
async function tryOut(
  namespaces: MountNamespaces,
  user: ProcessUser,
  searchPath: string,
  scratch: string,
): Promise<string | undefined> {
  await Deno.mkdir(`${scratch}/volume`, { recursive: true });
  await Deno.writeTextFile(`${scratch}/volume/file`, "");
  await Deno.writeTextFile(`${scratch}/hosts`, `${PROBE.address} ${PROBE.name}\n`);
  writePrivateRoot(`${scratch}/mounts`, [
    { mountPath: "/milepost-probe", hostPath: `${scratch}/volume` },
    ...namespaces.hostsMounts(`${scratch}/hosts`),
  ]);
  const check = [fileOf("sh", searchPath), "-c", CHECK, "check", `${user.uid}`];
  const [program = "", ...args] = namespaces.wrap(check, {
    folder: `${scratch}/mounts`,
    cwd: "/",
    hostname: "milepost-probe",
  });
  const { success, stderr } = await new Deno.Command(program, {
    args,
    env: { PATH: searchPath, LANG: "C" },
    clearEnv: true,
    stdin: "null",
    stdout: "null",
    signal: AbortSignal.timeout(ATTEMPT_MS),
  }).output();
  if (success) return undefined;
  const said = new TextDecoder().decode(stderr).trim().split("\n")[0] ?? "";
  return said === "" ? "the attempt at start failed" : said;
}

/** Mounts of a hosts file, and of the file that puts it first if the machine's own does not. */
function hostsMounts(folder: string): MountNamespaces["hostsMounts"] {
  const hosts = (hostPath: string) => ({ mountPath: "/etc/hosts", hostPath });
  const text = withHostsFileFirst(machineFile(NSSWITCH));
  if (text === undefined) return (hostsFile) => [hosts(hostsFile)];
  const hostPath = `${folder}/nsswitch.conf`;
  Deno.writeTextFileSync(hostPath, text);
  return (hostsFile) => [hosts(hostsFile), { mountPath: NSSWITCH, hostPath }];
}

/** Tries mount namespaces out, since no setting of a machine says whether they work. Never throws. */
export async function openMountNamespaces(
  { folder, user, searchPath = "" }: {
    /** An existing folder of the kubelet. */
    readonly folder: string;
    readonly user: ProcessUser;
    /** Search path for util-linux's programs, beside the system's usual folders. */
    readonly searchPath?: string;
  },
): Promise<MountNamespaces | NoMountNamespaces> {
  const path = `${searchPath}:${SYSTEM_PATH}`;
  const scratch = `${folder}/try-out`;
  try {
    const namespaces: MountNamespaces = {
      wrap: mountingCommand(user, path),
      hostsMounts: hostsMounts(folder),
    };
    const reason = await tryOut(namespaces, user, path, scratch);
    return reason === undefined ? namespaces : { reason };
  } catch (error) {
    return { reason: messageOf(error) };
  } finally {
    await removeIfThere(scratch, { recursive: true });
  }
}
