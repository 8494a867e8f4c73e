/** Data folder of a standalone: only for its user, and for one process at a time. */
import { resolve } from "node:path";
import { getLogger } from "@logtape/logtape";
import { systemClock } from "../../platform/base/clock.ts";
import { ConfigurationError, messageOf } from "../../platform/kube/errors.ts";
import { dataFolders, kubeletId, memoryFolder } from "./machine.ts";
import { createProcesses } from "./processes/processes.ts";
import { removeIfThere } from "./processes/removal.ts";

const logger = getLogger(["milepost", "standalone"]);

/** Beginning of the names of temporary folders. */
const PREFIX = "milepost-";
/** File in a temporary folder that says that it is one. */
const TEMPORARY = "temporary";
/** Folder of a kubelet in a data folder. */
export const KUBELET_FOLDER = "kubelet";

/**
 * Ends what a kubelet of this folder left when it was killed: its pods' processes, whose number is returned,
 * and its folder in memory.
 */
async function endAbandoned(dataDir: string): Promise<number> {
  const folders = dataFolders(dataDir);
  const id = kubeletId(folders);
  const options = { clock: systemClock, bookFolder: folders.book, markPrefix: `${id}/` };
  const count = await createProcesses(options).endLeftovers();
  await removeIfThere(memoryFolder(id, folders), { recursive: true });
  return count;
}

/** Removes a temporary folder that nobody has locked, after it ended the processes of its pods. */
async function removeAbandoned(path: string): Promise<void> {
  const { uid } = await Deno.lstat(path);
  if (uid !== Deno.uid() || !(await Deno.lstat(`${path}/${TEMPORARY}`)).isFile) return;
  using lock = await Deno.open(`${path}/lock`, { write: true });
  if (!await lock.tryLock(true)) return;
  const processes = await endAbandoned(`${path}/${KUBELET_FOLDER}`);
  await removeIfThere(path, { recursive: true });
  logger.warn("Removed what a run that was killed had left", { folder: path, processes });
}

/** Removes the temporary folders of runs that were killed. Never throws. */
async function removeAllAbandoned(): Promise<void> {
  const parent = Deno.env.get("TMPDIR") || "/tmp";
  try {
    for await (const { name, isDirectory } of Deno.readDir(parent)) {
      if (!isDirectory || !name.startsWith(PREFIX)) continue;
      await removeAbandoned(`${parent}/${name}`).catch((error) => {
        if (error instanceof Deno.errors.NotFound) return; // It is not one of those folders.
        logger.warn("Cannot remove what a run that was killed had left", {
          folder: `${parent}/${name}`,
          error: messageOf(error),
        });
      });
    }
  } catch (error) {
    logger.warn("Cannot look for what killed runs had left", { parent, error: messageOf(error) });
  }
}

async function open(path: string): Promise<Deno.FsFile> {
  try {
    await Deno.mkdir(path, { recursive: true, mode: 0o700 });
    return await Deno.open(`${path}/lock`, { create: true, write: true, mode: 0o600 });
  } catch (cause) {
    throw new ConfigurationError(`--data-dir ${path} cannot be used: ${messageOf(cause)}`, {
      cause,
    });
  }
}

/**
 * Takes a folder, or makes a temporary one, which is ours until it is released, and removes the temporary ones of runs
 * that were killed. Throws a ConfigurationError if it cannot be used or another process has it; the lock goes with the
 * process, however that ends.
 */
export async function takeDataFolder(dataDir: string | undefined) {
  const isTemporary = dataDir === undefined;
  const path = isTemporary ? await Deno.makeTempDir({ prefix: PREFIX }) : resolve(dataDir);
  const lock = await open(path);
  if (!await lock.tryLock(true)) {
    lock.close();
    throw new ConfigurationError(`--data-dir ${path} is in use by another standalone or node`);
  }
  if (isTemporary) await Deno.writeTextFile(`${path}/${TEMPORARY}`, "");
  else await removeIfThere(`${path}/${TEMPORARY}`); // It is kept from now on.
  await removeAllAbandoned();
  return {
    path,
    /** Whether it is removed when it is released. */
    isTemporary,
    /** Releases it for another process; removes a temporary one. */
    async release(): Promise<void> {
      // A program that is just being started has the file, too, until it runs: only this lets go for both.
      await lock.unlock();
      lock.close();
      if (isTemporary) await removeIfThere(path, { recursive: true });
    },
  };
}
