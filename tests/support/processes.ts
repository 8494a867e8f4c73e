/** Processes of this machine, for tests that nothing is left behind. Linux. */

/** Processes whose environment or command line mentions `text`, with their command lines. */
export async function processesThatMention(text: string): Promise<Map<number, string>> {
  const found = new Map<number, string>();
  for await (const entry of Deno.readDir("/proc")) {
    const pid = Number(entry.name);
    if (!Number.isInteger(pid) || pid === Deno.pid) continue;
    const read = async (file: string) => {
      try {
        return (await Deno.readTextFile(`/proc/${pid}/${file}`)).replaceAll("\0", " ");
      } catch {
        return ""; // It ended while we looked, or is somebody else's.
      }
    };
    const command = await read("cmdline");
    if (command.includes(text) || (await read("environ")).includes(text)) found.set(pid, command);
  }
  return found;
}
