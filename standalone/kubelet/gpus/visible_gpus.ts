/** Selection of GPUs by CUDA_VISIBLE_DEVICES. Pure. */

/** An NVIDIA GPU. */
export interface Gpu {
  /** `GPU-…`, as CUDA_VISIBLE_DEVICES takes it. */
  readonly uuid: string;
  readonly name: string;
  /** Memory as nvidia-smi prints it, such as `143771 MiB`. */
  readonly memory: string;
  /** Whether it is divided into MIG devices, so that no process can have it as a whole. */
  readonly isDivided: boolean;
}

/** Variable by which CUDA knows the GPUs that a process may see. */
export const VISIBLE_DEVICES_ENV = "CUDA_VISIBLE_DEVICES";

/** The GPUs of a machine or of a pod by their index; undefined for one that does not respond. */
export type GpuList = readonly (Gpu | undefined)[];

/** The GPU of an index, a UUID or the beginning of one UUID only. */
function gpuOf(entry: string, gpus: GpuList): Gpu | undefined {
  if (/^\d+$/.test(entry)) return gpus[Number(entry)];
  if (!entry.startsWith("GPU-")) return undefined;
  const found = gpus.filter((gpu) => gpu?.uuid.startsWith(entry));
  return found.length === 1 ? found[0] : undefined;
}

/**
 * Returns the GPUs that a value of CUDA_VISIBLE_DEVICES selects, in its order and by CUDA's rules: the
 * first entry that names no GPU ends the list, a GPU that is named twice empties it. Without a value
 * all are selected.
 */
export function visibleGpus(setting: string | undefined, gpus: GpuList): Gpu[] {
  if (setting === undefined) return gpus.filter((gpu) => gpu !== undefined);
  const selected = new Set<Gpu>();
  for (const entry of setting.split(",")) {
    const gpu = gpuOf(entry.trim(), gpus);
    if (gpu === undefined) break;
    if (selected.has(gpu)) return [];
    selected.add(gpu);
  }
  return [...selected];
}
