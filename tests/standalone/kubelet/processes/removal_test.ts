/** Tests of the removal of files: a missing one is not an error. */
import assert from "node:assert/strict";
import { removeIfThere } from "../../../../standalone/kubelet/processes/removal.ts";

Deno.test("removeIfThere() removes a folder, and again nothing", async () => {
  const folder = await Deno.makeTempDir();
  await Deno.writeTextFile(`${folder}/file`, "");
  await removeIfThere(folder, { recursive: true });
  await assert.rejects(Deno.stat(folder), Deno.errors.NotFound);
  await removeIfThere(folder, { recursive: true });
});

Deno.test("removeIfThere() does not throw if it cannot remove", async () => {
  const folder = await Deno.makeTempDir();
  await Deno.writeTextFile(`${folder}/file`, "");
  await removeIfThere(folder);
  assert.ok((await Deno.stat(`${folder}/file`)).isFile);
  await Deno.remove(folder, { recursive: true });
});

Deno.test({
  name: "removeIfThere() removes folders that a program made read-only",
  ignore: Deno.uid() === 0, // Root may write everywhere.
  async fn() {
    const folder = await Deno.makeTempDir();
    await Deno.mkdir(`${folder}/go/mod`, { recursive: true });
    await Deno.writeTextFile(`${folder}/go/mod/file`, "", { mode: 0o400 });
    await Deno.symlink("/", `${folder}/go/mod/link`);
    await Deno.chmod(`${folder}/go/mod`, 0o500);
    await Deno.chmod(`${folder}/go`, 0o500);
    await removeIfThere(folder, { recursive: true });
    await assert.rejects(Deno.stat(folder), Deno.errors.NotFound);
  },
});
