/** Best-effort removal of files and folders; failures are logged. */
import { getLogger } from "@logtape/logtape";
import { messageOf } from "../../../platform/kube/errors.ts";

const logger = getLogger(["milepost", "standalone"]);

/** Lets the user write into a folder and those in it, which programs such as Go's make read-only. */
async function makeWritable(folder: string): Promise<void> {
  await Deno.chmod(folder, 0o700);
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory) await makeWritable(`${folder}/${name}`);
  }
}

async function remove(path: string, options: Deno.RemoveOptions): Promise<void> {
  try {
    await Deno.remove(path, options);
  } catch (error) {
    if (!(error instanceof Deno.errors.PermissionDenied) || !options.recursive) throw error;
    await makeWritable(path);
    await Deno.remove(path, options);
  }
}

/** Removes a file, or a folder with its contents. Never throws; a missing one is no failure. */
export async function removeIfThere(
  path: string,
  options: Deno.RemoveOptions = {},
): Promise<void> {
  try {
    await remove(path, options);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return;
    logger.warn("Cannot remove a leftover file or folder", { path, error: messageOf(error) });
  }
}

/** Removes what is in a folder, but the files and folders whose names `keeps` accepts. */
export async function removeAllBut(
  folder: string,
  keeps: (name: string) => boolean,
): Promise<void> {
  for await (const { name } of Deno.readDir(folder)) {
    if (!keeps(name)) await removeIfThere(`${folder}/${name}`, { recursive: true });
  }
}
