/** The kubelet's machine: folders, address, programs. */
import { rmSync } from "node:fs";
import { resolve } from "node:path";
import { ConfigurationError } from "../../platform/kube/errors.ts";

/** Throws a `ConfigurationError` for an operating system that pods cannot run on. */
export function refuseOtherSystems(os: string): void {
  if (os === "linux") return;
  throw new ConfigurationError(
    `the kubelet runs on Linux only (it needs /proc and the 127.0.0.0/8 network), and this is ` +
      `${os}: run Milepost in a Linux container or machine`,
  );
}

/** Makes the folders of one kubelet; each exists, only for its user. */
export function dataFolders(dataDir: string) {
  const root = resolve(dataDir);
  const folders = {
    root,
    pods: `${root}/pods`,
    logs: `${root}/logs`,
    /** Folders of PersistentVolumeClaims. */
    claims: `${root}/claims`,
    /** Hosts files of the namespaces. */
    hosts: `${root}/hosts`,
    /** Book of the processes that run. */
    book: `${root}/processes`,
    /** Programs that come with the kubelet. */
    bin: `${root}/bin`,
    cache: `${root}/cache`,
  };
  for (const folder of Object.values(folders)) {
    Deno.mkdirSync(folder, { recursive: true, mode: 0o700 });
  }
  return folders;
}
type DataFolders = ReturnType<typeof dataFolders>;

/** A unique name of this kubelet, which is kept in its folder. */
export function kubeletId({ root }: DataFolders): string {
  const path = `${root}/kubelet-id`;
  try {
    const id = Deno.readTextFileSync(path).trim();
    if (id !== "") return id;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  const id = crypto.randomUUID();
  Deno.writeTextFileSync(path, id, { mode: 0o600 });
  return id;
}

function makeEmptyFolder(path: string): void {
  rmSync(path, { recursive: true, force: true });
  Deno.mkdirSync(path, { mode: 0o700 });
}

/**
 * An empty folder in memory for the kubelet of this id, or on the disk if the machine has no place in
 * memory. What an earlier run left there is gone.
 */
export function memoryFolder(id: string, { root }: DataFolders): string {
  const inMemory = `/dev/shm/milepost-${id}`;
  try {
    makeEmptyFolder(inMemory);
    return inMemory;
  } catch {
    const onDisk = `${root}/memory`;
    makeEmptyFolder(onDisk);
    return onDisk;
  }
}

/** The first address of the machine that is neither loopback nor link-local; else 127.0.0.1. */
export function hostAddress(): string {
  const found = Deno.networkInterfaces().find(({ family, address }) =>
    family === "IPv4" && !address.startsWith("127.") && !address.startsWith("169.254.")
  );
  return found?.address ?? "127.0.0.1";
}

/** Links the running Deno into the search path of containers, unless Milepost is compiled. */
function provideDeno({ bin }: DataFolders): void {
  if (Deno.build.standalone) return;
  const link = `${bin}/deno`;
  rmSync(link, { force: true });
  Deno.symlinkSync(Deno.execPath(), link);
}

/**
 * Variables that every container has: the kubelet's search path with its own programs first, and one
 * cache of Deno modules for all pods. Nothing else of the kubelet's environment is handed on.
 */
export function baseEnvironment(
  folders: DataFolders,
  provideCommand: (folder: string) => void = () => {},
): Record<string, string> {
  provideDeno(folders);
  provideCommand(folders.bin);
  const path = Deno.env.get("PATH") || "/usr/local/bin:/usr/bin:/bin";
  return {
    PATH: `${folders.bin}:${path}`,
    LANG: "C.UTF-8",
    DENO_DIR: Deno.env.get("DENO_DIR") ?? `${folders.cache}/deno`,
    DENO_NO_UPDATE_CHECK: "1",
  };
}
