/** Kinds that the API server serves, as its discovery says, and that this client may list. */
import { z } from "zod";
import type { KubeClient } from "../client.ts";
import { ignoring, isAbsentOrForbidden, isForbidden, isNotFound } from "../errors.ts";
import { apiVersionOf, type Kind, withMetadataOnly } from "../resource.ts";

/** Deadline of one request, in milliseconds. */
const DEADLINE_MS = 10_000;
/** Longest list of what a group serves, in bytes. */
const MAX_BYTES = 4 << 20;

const resourcesSchema = z.object({
  resources: z.array(z.object({ name: z.string(), kind: z.string().default("") })),
});

/** Returns a discovery document; undefined if there is none. Throws what the client throws. */
export async function discover<T>(
  client: Pick<KubeClient, "read">,
  path: string,
  schema: z.ZodType<T>,
  signal?: AbortSignal,
): Promise<T | undefined> {
  const bounds = { signal, deadlineMs: DEADLINE_MS, maxBytes: MAX_BYTES };
  const answer = await client.read(`/apis/${path}`, bounds).catch(ignoring(isNotFound));
  return answer && schema.parse(JSON.parse(answer.text));
}

/** Returns the plurals that are served in a version of a group, with their kinds. Throws what the client throws. */
export async function servedPlurals(
  client: Pick<KubeClient, "read">,
  apiVersion: string,
  signal?: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const found = await discover(client, apiVersion, resourcesSchema, signal);
  const resources = found?.resources.filter(({ name }) => !name.includes("/")) ?? [];
  return new Map(resources.map(({ name, kind }) => [name, kind]));
}

/** Returns those of the kinds that are served; all of a version that the client may not ask about. Throws what the client throws. */
export async function servedOf<K extends Omit<Kind<unknown>, "parse">>(
  client: Pick<KubeClient, "read">,
  kinds: readonly K[],
  signal?: AbortSignal,
): Promise<K[]> {
  const plurals = new Map<string, ReadonlyMap<string, string> | undefined>();
  await Promise.all([...new Set(kinds.map(apiVersionOf))].map(async (version) => {
    // Where it may not be known, lists tell whether there are any.
    const served = await servedPlurals(client, version, signal).catch(ignoring(isForbidden));
    plurals.set(version, served);
  }));
  return kinds.filter((kind) => plurals.get(apiVersionOf(kind))?.has(kind.plural) ?? true);
}

/**
 * Returns why objects of a kind cannot be listed: it is not served, or the client may not; undefined if they can. Throws
 * if the API server says neither.
 */
export async function listRefusal(
  client: Pick<KubeClient, "list">,
  kind: Kind<unknown>,
  signal: AbortSignal,
): Promise<unknown> {
  try {
    await client.list(withMetadataOnly(kind), { limit: 1, signal, deadlineMs: DEADLINE_MS });
    return undefined;
  } catch (error) {
    if (isAbsentOrForbidden(error)) return error;
    throw error;
  }
}
