/**
 * Writes `crds/kubernetes_schemas.json` from the `/openapi/v3` documents of a Kubernetes API server:
 * `deno run -A build/generate_schemas.ts DIRECTORY`, with a document a file. Descriptions are left
 * out, since a CRD must fit into the annotation of client-side `kubectl apply`.
 */
// deno-lint-ignore-file no-console -- a tool of the developer, run by hand
import { z } from "zod";

const documentSchema = z.object({
  components: z.object({ schemas: z.record(z.string(), z.unknown()) }).optional(),
});

function withoutDescriptions(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDescriptions);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, child]) => !(key === "description" && typeof child === "string"))
      .map(([key, child]) => [key, withoutDescriptions(child)]),
  );
}

/** All schemas of the documents in a folder, sorted by name. */
async function collect(directory: string): Promise<Record<string, unknown>> {
  const schemas = new Map<string, unknown>();
  for await (const entry of Deno.readDir(directory)) {
    if (!entry.isFile || !entry.name.endsWith(".json")) continue;
    const text = await Deno.readTextFile(`${directory}/${entry.name}`);
    const document = documentSchema.parse(JSON.parse(text));
    for (const [name, schema] of Object.entries(document.components?.schemas ?? {})) {
      schemas.set(name, withoutDescriptions(schema));
    }
  }
  return Object.fromEntries([...schemas].sort(([a], [b]) => a < b ? -1 : 1));
}

if (import.meta.main) {
  const directory = Deno.args[0];
  if (directory === undefined) {
    console.error("name the folder of the /openapi/v3 documents");
    Deno.exit(2);
  }
  const target = new URL("../crds/kubernetes_schemas.json", import.meta.url);
  await Deno.writeTextFile(target, `${JSON.stringify(await collect(directory))}\n`);
}
