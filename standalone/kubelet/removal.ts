/** Best-effort removal of files and folders; failures are logged. */
import { getLogger } from "@logtape/logtape";
import { messageOf } from "../../kube/errors.ts";

const logger = getLogger(["milepost", "standalone"]);

/** Removes a file, or a folder with its contents. Never throws; a missing one is no failure. */
export async function removeIfThere(
  path: string,
  options: Deno.RemoveOptions = {},
): Promise<void> {
  try {
    await Deno.remove(path, options);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return;
    logger.warn("Cannot remove a leftover file or folder", { path, error: messageOf(error) });
  }
}
