/** Tests of the compiled executable: the arguments of `deno compile`, and messages about its failures. */
import assert from "node:assert/strict";
import { compile, compileArguments, explainFailure } from "../../build/compile.ts";

const UNREACHABLE = `Compile dist/milepost.js to dist/milepost
Download https://dl.deno.land/release/v2.9.6/denort-x86_64-unknown-linux-gnu.zip
error: Writing deno compile executable to temporary file 'milepost.tmp-7e3c'

Caused by:
    0: Setting up base binary.
    1: error sending request for url (https://dl.deno.land/release/v2.9.6/denort.zip): dns error
`;

const failures: Record<string, { stderr: string; want: RegExp }> = {
  "the runtime cannot be fetched": {
    stderr: UNREACHABLE,
    want:
      /^cannot fetch the executable's runtime from https:\/\/dl\.deno\.land\/[^ ]*\.zip; set DENORT_BIN /,
  },
  "DENORT_BIN names nothing": {
    stderr: "error: Writing\n\nCaused by:\n    0: Could not find denort at '/nowhere'\n",
    want: /^DENORT_BIN: there is no file \/nowhere$/,
  },
  "something else is wrong": {
    stderr: "Compile a to b\nerror: no space left\n\nCaused by:\n    disk full\n",
    want: /^deno compile failed: error: no space left Caused by: disk full$/,
  },
};
for (const [sentence, { stderr, want }] of Object.entries(failures)) {
  Deno.test(`explainFailure() says in one line that ${sentence}`, () => {
    const line = explainFailure(stderr);
    assert.match(line, want);
    assert.ok(!line.includes("\n"));
  });
}

Deno.test("compileArguments() accepts the names of platforms that images use", () => {
  const args = compileArguments({ target: "arm64", output: "out", source: "milepost.js" });
  assert.ok(args.includes("--target=aarch64-unknown-linux-gnu"), args.join(" "));
  assert.deepEqual(args.slice(-2), ["--output=out", "milepost.js"]);
});

Deno.test("compileArguments() sets how memory is collected", () => {
  const args = compileArguments({ source: "milepost.js" });
  assert.ok(
    args.includes("--v8-flags=--max-semi-space-size=16,--heap-growing-percent=50,--expose-gc"),
  );
});

Deno.test("compile() takes the runtime that DENORT_BIN names, and puts the program into it", async () => {
  const folder = await Deno.makeTempDir({ prefix: "milepost-compile-" });
  try {
    // The real runtime is a download; any executable shows that this one is taken and filled.
    await Deno.writeTextFile(`${folder}/program.js`, "console.log('a program of 42 words');");
    const source = `${folder}/program.js`;
    await compile({ source, output: `${folder}/program`, runtime: Deno.execPath() });
    const bytes = await Deno.readFile(`${folder}/program`);
    assert.ok(new TextDecoder("latin1").decode(bytes).includes("a program of 42 words"));

    await assert.rejects(
      compile({ source, output: `${folder}/other`, runtime: `${folder}/nothing` }),
      /^Error: DENORT_BIN: there is no file .*nothing$/,
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
