/** Data folder of a standalone: for its user alone, and for one process at a time. */
import { resolve } from "node:path";
import { ConfigurationError, messageOf } from "../../kube/errors.ts";

/** A folder that is ours until it is released. */
export interface DataFolder {
  readonly path: string;
  /** Whether it is removed when it is released. */
  readonly isTemporary: boolean;
  /** Releases it for another process; removes a temporary one. */
  release(): Promise<void>;
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
 * Takes a folder, or makes a temporary one. Throws a ConfigurationError if it cannot be used or
 * another process has it; the lock goes with the process, however that ends.
 */
export async function takeDataFolder(dataDir: string | undefined): Promise<DataFolder> {
  const isTemporary = dataDir === undefined;
  const path = isTemporary ? await Deno.makeTempDir({ prefix: "milepost-" }) : resolve(dataDir);
  const lock = await open(path);
  if (!await lock.tryLock(true)) {
    lock.close();
    throw new ConfigurationError(`--data-dir ${path} is in use by another standalone`);
  }
  return {
    path,
    isTemporary,
    async release() {
      lock.close();
      if (isTemporary) await Deno.remove(path, { recursive: true });
    },
  };
}
