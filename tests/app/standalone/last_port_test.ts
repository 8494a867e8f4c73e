/** Tests of ports over restarts. */
import assert from "node:assert/strict";
import { startAt } from "../../../app/standalone/last_port.ts";
import { ConfigurationError } from "../../../platform/kube/errors.ts";

const FREE = 40_007;

async function withFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "milepost-test-" });
  try {
    await work(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** A server that gets the port that it asks for unless that is taken. Keeps what it was asked. */
function scene(taken: readonly number[] = []) {
  const asked: number[] = [];
  const start = (port: number) => {
    asked.push(port);
    return taken.includes(port)
      ? Promise.reject(new ConfigurationError(`port ${port} is taken`))
      : Promise.resolve({ port: port || FREE });
  };
  return { asked, start };
}

const portOf = ({ port }: { readonly port: number }) => port;

/** What the file has, which ports are taken; which are asked for, and what the file has then. */
const CASES: Readonly<Record<string, readonly [string | undefined, number[], number[], string]>> = {
  "the first start": [undefined, [], [0], `${FREE}`],
  "a later one": ["41000", [], [41_000], "41000"],
  "somebody else has the port": ["41000", [41_000], [41_000, 0], `${FREE}`],
  "a file that was damaged": ["41000x", [], [0], `${FREE}`],
  "a port that there is not": ["70000", [], [0], `${FREE}`],
  "a port that needs a right": ["80", [], [0], `${FREE}`],
};

for (const [name, [before, taken, asks, after]] of Object.entries(CASES)) {
  Deno.test(`a server is at the port that it had: ${name}`, () =>
    withFolder(async (folder) => {
      const file = `${folder}/port`;
      if (before !== undefined) await Deno.writeTextFile(file, before);
      const { asked, start } = scene(taken);
      const { port } = await startAt(0, file, start, portOf);
      assert.deepEqual([asked, await Deno.readTextFile(file)], [asks, after]);
      assert.equal(`${port}`, after);
    }));
}

Deno.test("a server that cannot start at any port says why", () =>
  withFolder(async (folder) => {
    const { start } = scene([0]);
    await assert.rejects(startAt(0, `${folder}/port`, start, portOf), /port 0 is taken/);
  }));

Deno.test("a server whose port was chosen, or that keeps nothing, is there, and nothing is remembered", () =>
  withFolder(async (folder) => {
    const file = `${folder}/port`;
    const { asked, start } = scene();
    await startAt(41_001, file, start, portOf);
    await startAt(0, undefined, start, portOf);
    assert.deepEqual(asked, [41_001, 0]);
    await assert.rejects(Deno.stat(file), Deno.errors.NotFound);
  }));
