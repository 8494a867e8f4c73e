/** Folder of a control plane; the next start removes what a killed test left. */
import { dirname } from "node:path";

const PREFIX = "milepost-cluster-";

/** Whether the process that made a folder is gone; false if that is unknown. */
async function isLeft(folder: string): Promise<boolean> {
  try {
    const pid = await Deno.readTextFile(`${folder}/pid`);
    await Deno.stat(`/proc/${pid}`);
    return false;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    // No file with the process: it is being made now, or removed.
    return await Deno.stat(`${folder}/pid`).then(() => true, () => false);
  }
}

/** Makes a folder for this process, and removes those whose processes are gone. */
export async function makeFolder(): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix: PREFIX });
  await Deno.writeTextFile(`${folder}/pid`, String(Deno.pid));
  const parent = dirname(folder);
  for await (const { name } of Deno.readDir(parent)) {
    const other = `${parent}/${name}`;
    if (!name.startsWith(PREFIX) || !await isLeft(other)) continue;
    await Deno.remove(other, { recursive: true }).catch(() => {}); // Another start was quicker.
  }
  return folder;
}
