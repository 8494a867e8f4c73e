/** The examples of the Training Operator: which of them `milepost convert` converts, and why not the others. */
import assert from "node:assert/strict";
import { z } from "zod";
import { convertText } from "../../controller/conversion/convert_text.ts";
import { findPeer, testWithPeer } from "./support/peer.ts";
import { TRAINING_OPERATOR, TRAINING_OPERATOR_MX } from "./training_operator/operator.ts";

const RECORDING = new URL("./recordings/training_operator_examples.json", import.meta.url);
const verdictsSchema = z.record(z.string(), z.record(z.string(), z.string()));

/** The YAML files in a folder with jobs in them, by their paths in it. */
async function* jobsIn(folder: string, path = ""): AsyncGenerator<readonly [string, string]> {
  const entries = (await Array.fromAsync(Deno.readDir(`${folder}${path}`)))
    .toSorted((one, other) => one.name < other.name ? -1 : 1);
  for (const { name, isDirectory } of entries) {
    const inside = `${path}/${name}`;
    if (isDirectory) yield* jobsIn(folder, inside);
    if (!/\.ya?ml$/.test(name)) continue;
    const text = await Deno.readTextFile(`${folder}${inside}`);
    if (/^apiVersion: "?kubeflow\.org\/v1"?$/m.test(text)) yield [inside.slice(1), text];
  }
}

function verdictOf(text: string): string {
  try {
    convertText(text);
    return "converted";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function verdicts(sources: string): Promise<Record<string, string>> {
  const all: Record<string, string> = {};
  for await (const [path, text] of jobsIn(`${sources}/examples`)) all[path] = verdictOf(text);
  return all;
}

for (const name of [TRAINING_OPERATOR, TRAINING_OPERATOR_MX]) {
  const found = await findPeer(name);
  testWithPeer(
    found,
    `the examples of the Training Operator ${found.version} are converted, or refused, as recorded`,
    async ({ sources, version }) => {
      const read = async () => verdictsSchema.parse(JSON.parse(await Deno.readTextFile(RECORDING)));
      const now = await verdicts(sources);
      if (Deno.env.get("MILEPOST_RECORD")) {
        const recorded = { ...await read().catch(() => ({})), [version]: now };
        return await Deno.writeTextFile(RECORDING, `${JSON.stringify(recorded, null, 2)}\n`);
      }
      assert.deepEqual(now, (await read())[version]);
    },
  );
}
