/** Kubeconfig file by which kubectl and the SDK reach a standalone, shared with other clusters. */
import { dirname, resolve } from "node:path";
import { getLogger } from "@logtape/logtape";
import { type Clock, systemClock } from "../../platform/base/clock.ts";
import { ConfigurationError, messageOf } from "../../platform/kube/errors.ts";
import {
  type KubeconfigContent,
  type StandaloneEntry,
  standaloneIn,
  withoutStandalone,
  withStandalone,
} from "./kubeconfig_merge.ts";

const logger = getLogger(["milepost", "standalone"]);

/** How long the lock is waited for, and the pause between two tries, in milliseconds. */
const LOCK = { longestMs: 5_000, everyMs: 50 } as const;
/** Deadline of the request that finds out whether another standalone runs. */
const ALIVE_MS = 1_000;

/** The file that a path leads to through symbolic links; it need not exist. */
async function targetOf(file: string): Promise<string> {
  try {
    return await Deno.realPath(file);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  const info = await Deno.lstat(file).catch(() => undefined);
  if (!info?.isSymlink) return resolve(file);
  return await targetOf(resolve(dirname(file), await Deno.readLink(file)));
}

/** Takes `FILE.lock`, as kubectl and kind do. Returns a function that releases it. */
async function lock(file: string, clock: Clock): Promise<() => Promise<void>> {
  const path = `${file}.lock`;
  const endsAt = clock.monotonic() + LOCK.longestMs;
  for (;;) {
    try {
      (await Deno.open(path, { write: true, createNew: true, mode: 0o600 })).close();
      return () => Deno.remove(path);
    } catch (cause) {
      if (!(cause instanceof Deno.errors.AlreadyExists)) throw cause;
      if (clock.monotonic() >= endsAt) {
        throw new Error(`${path} exists; if no program is writing the kubeconfig, remove it`, {
          cause,
        });
      }
      await clock.sleep(LOCK.everyMs);
    }
  }
}

/** Returns the content of a file that may be written; empty if there is none. */
async function read(file: string): Promise<string> {
  try {
    using opened = await Deno.open(file, { read: true, write: true });
    if (!(await opened.stat()).isFile) throw new Error("it is not a regular file");
    return await new Response(opened.readable).text();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  }
}

/** Writes the file, readable only for its user, at once or not at all. */
async function replace(file: string, text: string): Promise<void> {
  const temporary = `${file}.${crypto.randomUUID()}.tmp`;
  try {
    await Deno.writeTextFile(temporary, text, { mode: 0o600, createNew: true });
    await Deno.rename(temporary, file);
  } catch (error) {
    await Deno.remove(temporary).catch((left) => {
      if (left instanceof Deno.errors.NotFound) return; // It was not created.
      logger.warn("cannot remove a temporary kubeconfig; remove it", {
        path: temporary,
        error: left,
      });
    });
    throw error;
  }
}

/** Changes the file while no other program does; `change` returns undefined if nothing has to change. */
async function update(
  path: string,
  clock: Clock,
  change: (text: string) => Promise<string | undefined>,
): Promise<void> {
  const file = await targetOf(path);
  await Deno.mkdir(dirname(file), { recursive: true });
  const release = await lock(file, clock);
  try {
    const text = await change(await read(file));
    if (text !== undefined) await replace(file, text);
  } finally {
    await release();
  }
}

/** Whether the standalone of an entry answers, by the CA of that entry. */
async function isAlive({ server, caCertificate }: StandaloneEntry): Promise<boolean> {
  try {
    using client = Deno.createHttpClient({ caCerts: [caCertificate] });
    const signal = AbortSignal.timeout(ALIVE_MS);
    const answer = await fetch(`${server}/livez`, { client, signal });
    await answer.body?.cancel();
    return true;
  } catch {
    return false; // An earlier run was killed.
  }
}

/**
 * Merges a standalone's cluster, user and context into a kubeconfig; what others have in it stays. Returns a
 * function that takes them out again, and gives the previous current context back. Throws a
 * ConfigurationError if the file cannot be written, or has entries of that name that are not ours.
 */
export async function addToKubeconfig(
  path: string,
  content: KubeconfigContent,
  clock: Clock = systemClock,
): Promise<() => Promise<void>> {
  try {
    await update(path, clock, async (text) => {
      const merged = withStandalone(text, content);
      const other = standaloneIn(text);
      if (other !== undefined && other.server !== content.server && await isAlive(other)) {
        throw new Error(`the standalone at ${other.server} uses it; choose another file`);
      }
      return merged;
    });
  } catch (cause) {
    throw new ConfigurationError(`--kubeconfig ${path} cannot be used: ${messageOf(cause)}`, {
      cause,
    });
  }
  return async () => {
    try {
      await update(path, clock, (text) => Promise.resolve(withoutStandalone(text, content)));
    } catch (error) {
      logger.warn("cannot remove the entries from the kubeconfig", { path, error });
    }
  };
}
