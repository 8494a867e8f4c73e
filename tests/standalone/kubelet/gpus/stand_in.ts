/** Stand-in for nvidia-smi: a script that prints a table, fails or hangs. */

/** Makes an executable `nvidia-smi` of a script of the shell in a folder, and returns its path. */
export async function standIn(folder: string, script: string): Promise<string> {
  const path = `${folder}/nvidia-smi`;
  await Deno.writeTextFile(path, `#!/bin/sh\n${script}\n`, { mode: 0o700 });
  return path;
}

/** A script that lists GPUs as nvidia-smi does, and fails unless it is asked for what Milepost reads. */
export function listing(...uuids: readonly string[]): string {
  const rows = uuids.map((uuid, index) =>
    `echo "${index}, ${uuid}, Disabled, 24576 MiB, NVIDIA GeForce RTX 4090"`
  );
  return `[ "$1" = --query-gpu=index,uuid,mig.mode.current,memory.total,name ] || exit 2
[ "$2" = --format=csv,noheader ] || exit 2
${rows.join("\n")}`;
}
