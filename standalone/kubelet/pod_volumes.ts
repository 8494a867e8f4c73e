/** Volumes of one pod: folders on this machine, updated from their sources in the API server. */
import type { Pod, Volume } from "../../crds/kubernetes.ts";
import { replaceFolder, sameFiles } from "./atomic_folder.ts";
import { type VolumeContext, type VolumeFiles, volumeFiles } from "./volume_files.ts";

/** The volumes of one pod. */
export interface PodVolumes {
  /** Folder in which a volume's files are. */
  folderOf(name: string): string;
  /**
   * Updates all volumes; writes only what changed. Throws a `ConfigProblem` if a source is missing, and
   * errors of the client, when the others are up to date.
   */
  refresh(pod: Pod): Promise<void>;
}

/** The volumes of a pod below `folder`, one folder each. */
export function createVolumes(
  folder: string,
  context: Omit<VolumeContext, "pod"> & {
    /** Folder in memory for volumes that want it. */
    readonly memoryFolder: string;
  },
): PodVolumes {
  const written = new Map<string, VolumeFiles>();
  let version = 0;
  const folderOf = (name: string) => `${folder}/${name}`;

  /** Makes the folder of an emptyDir, which may be a link into memory. */
  async function makeEmptyDir({ name, emptyDir }: Volume): Promise<void> {
    if (emptyDir?.medium !== "Memory") {
      return await Deno.mkdir(folderOf(name), { recursive: true, mode: 0o700 });
    }
    const place = `${context.memoryFolder}/${name}`;
    await Deno.mkdir(place, { recursive: true, mode: 0o700 });
    const link = await Deno.lstat(folderOf(name)).catch(() => undefined);
    if (!link) await Deno.symlink(place, folderOf(name));
  }

  async function refreshOne(volume: Volume, pod: Pod): Promise<void> {
    const files = await volumeFiles(volume, { ...context, pod });
    if (files === undefined) {
      await makeEmptyDir(volume);
    } else if (!sameFiles(written.get(volume.name), files)) {
      await replaceFolder(folderOf(volume.name), files, String(++version));
      written.set(volume.name, files);
    }
  }

  return {
    folderOf,
    async refresh(pod) {
      const failures: unknown[] = [];
      for (const volume of pod.spec?.volumes ?? []) {
        // A ConfigMap that was deleted must not keep the tokens of another volume from being renewed.
        await refreshOne(volume, pod).catch((error) => failures.push(error));
      }
      if (failures.length > 0) throw failures[0];
    },
  };
}
