/** Removes what may be gone already: cleaning up must not stop the work, but it is told where it fails. */
import { getLogger } from "@logtape/logtape";
import { messageOf } from "../../kube/errors.ts";

const logger = getLogger(["milepost", "standalone"]);

/** Removes a file, or a folder with what is in it. Never throws; what is not there is no news. */
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
