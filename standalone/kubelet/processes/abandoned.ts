/** Leftovers of a kubelet that was killed and whose folder is not used again. */
import { type Clock, systemClock } from "../../../platform/base/clock.ts";
import { dataFolders, kubeletId, memoryFolder } from "../machine.ts";
import { createProcesses } from "./processes.ts";
import { removeIfThere } from "./removal.ts";

/**
 * Ends what a kubelet of this folder left when it was killed: its pods' processes, whose number is returned,
 * and its folder in memory.
 */
export async function endAbandoned(dataDir: string, clock: Clock = systemClock): Promise<number> {
  const folders = dataFolders(dataDir);
  const id = kubeletId(folders);
  const options = { clock, bookFolder: folders.book, markPrefix: `${id}/` };
  const count = await createProcesses(options).endLeftovers();
  await removeIfThere(memoryFolder(id, folders), { recursive: true });
  return count;
}
