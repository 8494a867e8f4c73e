/** Discovery of the machine's NVIDIA GPUs by nvidia-smi. */
import { getLogger } from "@logtape/logtape";
import { type Clock, systemClock } from "../../../platform/base/clock.ts";
import { answerInTime } from "../../../platform/base/deadline.ts";
import { messageOf } from "../../../platform/kube/errors.ts";
import { type Gpu, type GpuList, VISIBLE_DEVICES_ENV, visibleGpus } from "./visible_gpus.ts";

const logger = getLogger(["milepost", "standalone"]);

/** Without a persistence daemon the driver takes seconds for each GPU. */
const DEADLINE_MS = 20_000;
/** The name comes last, because it may contain a comma. */
const QUERY = "--query-gpu=index,uuid,mig.mode.current,memory.total,name";
const ROW = /^(\d+), *(GPU-[^,]+), *([^,]+), *([^,]+), *(.+)$/;

/** Returns the GPUs of nvidia-smi's table by their index, without rows that describe none. Pure. */
export function parseGpuTable(text: string): GpuList {
  const gpus: (Gpu | undefined)[] = [];
  for (const line of text.split("\n")) {
    const [, index = "", uuid = "", mig, memory = "", name = ""] = ROW.exec(line.trim()) ?? [];
    if (uuid === "") continue;
    while (gpus.length <= Number(index)) gpus.push(undefined);
    gpus[Number(index)] = { uuid, name, memory, isDivided: mig === "Enabled" };
  }
  return gpus;
}

/** Options of {@link findGpus}. */
export interface GpuSearch {
  /** Program in place of `nvidia-smi`. */
  readonly program?: string;
  /** The kubelet's own CUDA_VISIBLE_DEVICES. Default: its environment's. */
  readonly visible?: string;
  readonly clock?: Clock;
  /** Longest run of the program, in milliseconds. Default 20000. */
  readonly deadlineMs?: number;
}

/** Output of the program. Throws an Error if it fails or takes too long, `NotFound` if it is not there. */
async function query({ program = "nvidia-smi", clock = systemClock, ...options }: GpuSearch) {
  const deadlineMs = options.deadlineMs ?? DEADLINE_MS;
  const child = new Deno.Command(program, {
    args: [QUERY, "--format=csv,noheader"],
    detached: true,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const output = await answerInTime(clock, deadlineMs, undefined, () => child.output());
  if (output === undefined) {
    Deno.kill(-child.pid, "SIGKILL");
    child.unref();
    throw new Error(`it did not end within ${deadlineMs} ms`);
  }
  const { code, stdout, stderr } = output;
  const [text, errors] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes).trim());
  if (code !== 0) throw new Error(`exit code ${code}: ${(errors || text || "").split("\n")[0]}`);
  return text ?? "";
}

/**
 * Returns the GPUs that pods can have: those that nvidia-smi lists and the kubelet's own
 * CUDA_VISIBLE_DEVICES selects; undefined if nvidia-smi is not installed. A failure is logged, and
 * gives no GPU.
 */
export async function findGpus(options: GpuSearch = {}): Promise<readonly Gpu[] | undefined> {
  let table: GpuList;
  try {
    table = parseGpuTable(await query(options));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) {
      logger.info("No GPUs: nvidia-smi is not on the PATH");
      return undefined;
    }
    logger.warn("No GPUs are offered to pods: nvidia-smi failed", { error: messageOf(error) });
    return [];
  }
  const setting = options.visible ?? Deno.env.get(VISIBLE_DEVICES_ENV);
  const visible = visibleGpus(setting, table);
  const gpus = visible.filter(({ isDivided }) => !isDivided);
  const divided = visible.length - gpus.length;
  if (divided > 0) logger.warn("GPUs that are divided by MIG are not offered to pods", { divided });
  const found = gpus.map(({ name, memory, uuid }) => `${name} ${memory} ${uuid}`).join(", ");
  logger.info("GPUs are offered to pods", { count: gpus.length, gpus: found });
  return gpus;
}
