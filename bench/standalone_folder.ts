/** Temporary folder with a standalone in it, both removed after the work. */
import {
  type StandaloneProcess,
  startStandaloneProcess,
} from "../tests/support/milepost_process.ts";

/** Runs `work` with a folder that is removed afterwards. */
export async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await Deno.makeTempDir({ prefix: "milepost-bench-" });
  try {
    return await work(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Runs `work` with a standalone that keeps its data in `folder`, and stops it. */
export async function withStandaloneIn<T>(
  folder: string,
  work: (standalone: StandaloneProcess) => Promise<T>,
): Promise<T> {
  const standalone = await startStandaloneProcess(["--data-dir", folder]);
  try {
    return await work(standalone);
  } finally {
    await standalone.stop();
  }
}
