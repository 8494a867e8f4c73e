/** Volumes of one pod: folders on this machine, updated from their sources in the API server. */
import type { Pod, Volume } from "../../../platform/kube/kubernetes.ts";
import { replaceFolder, sameFiles } from "./atomic_folder.ts";
import type { ClaimFolders } from "./claim_folders.ts";
import { removeIfThere } from "../processes/removal.ts";
import { type VolumeContext, type VolumeFiles, volumeFiles } from "./volume_files.ts";

/** The volumes of one pod. */
export type PodVolumes = ReturnType<typeof createVolumes>;

/** The volumes of a pod below `folder`, one folder each. */
export function createVolumes(
  folder: string,
  context: Omit<VolumeContext, "pod"> & {
    /** Folder in memory for volumes that want it. */
    readonly memoryFolder: string;
    /** Folders of claims; without them no pod with a claim comes here. */
    readonly claims?: Pick<ClaimFolders, "open">;
  },
) {
  const written = new Map<string, VolumeFiles>();
  const linked = new Set<string>();
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

  /** Links a volume to the folder of its claim, once. */
  async function linkClaim(volume: string, claimName: string, { metadata }: Pod): Promise<void> {
    if (linked.has(volume) || context.claims === undefined) return;
    const { namespace = "", uid = "" } = metadata ?? {};
    const claim = await context.claims.open(namespace, claimName, uid);
    // An earlier kubelet may have linked it, perhaps to a claim that had this name.
    await removeIfThere(folderOf(volume));
    await Deno.symlink(claim, folderOf(volume));
    linked.add(volume);
  }

  async function refreshOne(volume: Volume, pod: Pod): Promise<void> {
    const { persistentVolumeClaim } = volume;
    if (persistentVolumeClaim) {
      return await linkClaim(volume.name, persistentVolumeClaim.claimName, pod);
    }
    const files = await volumeFiles(volume, { ...context, pod });
    if (files === undefined) {
      await makeEmptyDir(volume);
    } else if (!sameFiles(written.get(volume.name), files)) {
      await replaceFolder(folderOf(volume.name), files, String(++version));
      written.set(volume.name, files);
    }
  }

  return {
    /** Folder in which a volume's files are. */
    folderOf,
    /**
     * Updates all volumes; writes only what changed. Throws a `ConfigProblem` if a source is missing, and
     * errors of the client, when the others are up to date.
     */
    async refresh(pod: Pod): Promise<void> {
      const failures: unknown[] = [];
      for (const volume of pod.spec?.volumes ?? []) {
        // A ConfigMap that was deleted must not keep the tokens of another volume from being renewed.
        await refreshOne(volume, pod).catch((error) => failures.push(error));
      }
      if (failures.length > 0) throw failures[0];
    },
  };
}
