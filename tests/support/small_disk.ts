/** Small disk: a file system of half a megabyte in a mount namespace, where the machine allows that. */
import assert from "node:assert/strict";

/** Whether the machine allows it. */
export const canHaveSmallDisk: boolean = await new Deno.Command("unshare", {
  args: ["-rm", "mount", "-t", "tmpfs", "none", "/mnt"],
  stderr: "null",
}).output().then(({ success }) => success, () => false);

/** Runs a program in its folder there, and returns what it prints, which is JSON. */
export async function onSmallDisk(program: string): Promise<unknown> {
  const folder = await Deno.makeTempDir();
  try {
    const disk = `${folder}/disk`;
    await Deno.mkdir(disk);
    await Deno.writeTextFile(`${folder}/program.ts`, program);
    const script = 'mount -t tmpfs -o size=512k none "$0" && cd "$0" && exec "$@"';
    const { stdout, stderr } = await new Deno.Command("unshare", {
      args: ["-rm", "sh", "-c", script, disk, Deno.execPath(), "run", "-A", "--no-check"]
        .concat("--config", new URL("../../deno.json", import.meta.url).pathname)
        .concat(`${folder}/program.ts`),
    }).output();
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    assert.notEqual(text(stdout), "", text(stderr));
    return JSON.parse(text(stdout));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
