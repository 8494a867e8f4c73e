/**
 * Check that no registry has a version yet: what is published once is never published again.
 *
 *   deno run -A build/release/unpublished.ts OWNER/NAME
 */
import { VERSION } from "../../app/version.ts";

/** How long a registry may take to answer, in milliseconds. */
const DEADLINE_MS = 30_000;

/** Addresses that answer 404 while they do not have the version. */
export function placesOf(version: string, repository: string): Readonly<Record<string, string>> {
  return {
    "npm: milepost": `https://registry.npmjs.org/milepost/${version}`,
    "PyPI: milepost": `https://pypi.org/pypi/milepost/${version}/json`,
    "PyPI: milepost-server": `https://pypi.org/pypi/milepost-server/${version}/json`,
    "GitHub: release": `https://api.github.com/repos/${repository}/releases/tags/v${version}`,
  };
}

/** Returns what is in the way: who has the version, or cannot say. `ask` returns the status of an answer. */
export async function obstaclesTo(
  version: string,
  repository: string,
  ask: (address: string) => Promise<number>,
): Promise<readonly string[]> {
  const found = await Promise.all(
    Object.entries(placesOf(version, repository)).map(async ([name, address]) => {
      const status = await ask(address).catch((error: unknown) => `${error}`);
      if (status === 404) return [];
      return status === 200
        ? [`${name} has ${version} already: raise the version`]
        : [`${name} does not say whether it has ${version}: ${status} of ${address}`];
    }),
  );
  return found.flat();
}

async function statusOf(address: string): Promise<number> {
  const token = Deno.env.get("GH_TOKEN");
  const isOfGithub = address.startsWith("https://api.github.com/");
  const headers: Record<string, string> = token !== undefined && isOfGithub
    ? { authorization: `Bearer ${token}` }
    : {};
  const response = await fetch(address, { headers, signal: AbortSignal.timeout(DEADLINE_MS) });
  await response.body?.cancel();
  return response.status;
}

if (import.meta.main) {
  const [repository = ""] = Deno.args;
  const obstacles = await obstaclesTo(VERSION, repository, statusOf);
  await Deno.stderr.write(new TextEncoder().encode(obstacles.map((it) => `${it}\n`).join("")));
  if (obstacles.length > 0) Deno.exit(1);
}
