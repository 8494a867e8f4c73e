/** Tests of `bin/milepost`, the command of a clone. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import house from "../../deno.json" with { type: "json" };
import { run } from "../support/command.ts";

const COMMAND = fileURLToPath(new URL("../../bin/milepost", import.meta.url));

/** Runs `body` with a folder of programs that are shell scripts. */
async function withPrograms(
  programs: Readonly<Record<string, string>>,
  body: (folder: string) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "milepost-test-" });
  try {
    for (const [name, script] of Object.entries(programs)) {
      await Deno.writeTextFile(`${folder}/${name}`, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    }
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const milepost = (path: string, ...args: string[]) =>
  run(COMMAND, { args, cwd: "/", env: { PATH: `${path}:/usr/bin:/bin` } });

Deno.test("bin/milepost runs the sources, from any folder, and through a link", async () => {
  await withPrograms({ deno: `exec '${Deno.execPath()}' "$@"` }, async (folder) => {
    const { code, stdout, stderr } = await milepost(folder, "version");
    assert.equal(code, 0, stderr);
    assert.match(stdout, new RegExp(`^milepost ${house.version}\n`));
    await Deno.symlink(COMMAND, `${folder}/mp`);
    const linked = await run(`${folder}/mp`, {
      args: ["get", "--no-such"],
      env: { PATH: `${folder}:/usr/bin:/bin` },
    });
    assert.equal(linked.code, 2);
  });
});

Deno.test("bin/milepost takes npm's Deno where there is none of its version, and never npm's wrapper", async () => {
  const old = "echo 'deno 1.0.0 (stable)'";
  const there: readonly Record<string, string>[] = [{}, { deno: old }];
  for (const others of there) {
    await withPrograms({ ...others, real: 'echo "real $2 $5"' }, async (folder) => {
      const modules = `${folder}/node_modules`;
      const binary = `${modules}/@deno/linux-x64-glibc`;
      await Deno.mkdir(binary, { recursive: true });
      await Deno.mkdir(`${modules}/deno`);
      await Deno.writeTextFile(`${modules}/deno/bin.cjs`, "", { mode: 0o755 });
      await Deno.rename(`${folder}/real`, `${binary}/deno`);
      const npx = `#!/bin/sh\nprintf '%s\\n' '${modules}/deno/bin.cjs'\n`;
      await Deno.writeTextFile(`${folder}/npx`, npx, { mode: 0o755 });
      const { stdout, stderr } = await milepost(folder, "get");
      assert.equal(stdout, "real --allow-all get\n", stderr);
    });
  }
});

Deno.test("bin/milepost says what it needs where there is neither", async () => {
  await withPrograms({}, async (folder) => {
    for (const name of ["sh", "dirname", "readlink", "sed"]) {
      await Deno.symlink(`/usr/bin/${name}`, `${folder}/${name}`);
    }
    const { code, stderr } = await run(COMMAND, { args: ["get"], env: { PATH: folder } });
    assert.equal(code, 1);
    assert.match(stderr, /^milepost: needs Deno [\d.]+, or Node 20 with npm, which brings it\n$/);
  });
});
