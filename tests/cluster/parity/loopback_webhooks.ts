/** Webhook configurations of upstream's manifests, pointed at a program on loopback. */
import { parseAllDocuments } from "yaml";
import { z } from "zod";
import type { Manifest } from "./manifest.ts";

/** Address of the program, and the CA of its certificate. */
export interface LoopbackTarget {
  readonly port: number;
  readonly caPem: string;
}

const webhookSchema = z.looseObject({
  name: z.string(),
  clientConfig: z.looseObject({ service: z.looseObject({ path: z.string() }) }),
});
const documentSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string() }),
  webhooks: z.array(webhookSchema).optional(),
});

/** The documents of a YAML file, with at least a kind and a name each. */
export async function readManifests(file: string): Promise<z.infer<typeof documentSchema>[]> {
  const documents = parseAllDocuments(await Deno.readTextFile(file));
  if ("empty" in documents) return [];
  return documents.map((document) => document.toJS() as unknown)
    .filter((value) => value !== null && value !== undefined)
    .map((value) => documentSchema.parse(value));
}

/** Additions of kustomize to a configuration: its name, and object selectors by webhook. */
export interface Overlay {
  readonly names: Readonly<Record<string, string>>;
  readonly objectSelectors: Readonly<Record<string, unknown>>;
}

/** A configuration whose webhooks are reached by URLs. */
export interface LoopbackConfiguration extends Manifest {
  readonly webhooks: readonly { readonly clientConfig: { readonly url: string } }[];
}

/** The configurations of a file, each webhook reached at `target` instead of through a Service. */
export async function loopbackWebhooks(
  file: string,
  target: LoopbackTarget,
  overlay: Overlay,
): Promise<LoopbackConfiguration[]> {
  const caBundle = btoa(target.caPem);
  return (await readManifests(file)).map((document) => ({
    ...document,
    metadata: { name: overlay.names[document.kind] ?? document.metadata.name },
    webhooks: (document.webhooks ?? []).map(({ clientConfig, ...webhook }) => {
      const objectSelector = overlay.objectSelectors[webhook.name];
      const url = `https://127.0.0.1:${target.port}${clientConfig.service.path}`;
      return {
        ...webhook,
        clientConfig: { url, caBundle },
        ...objectSelector === undefined ? {} : { objectSelector },
      };
    }),
  }));
}
