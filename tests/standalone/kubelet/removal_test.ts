/** Tests of the removal of files: a missing one is not an error. */
import assert from "node:assert/strict";
import { removeIfThere } from "../../../standalone/kubelet/removal.ts";

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
