/** Ports over restarts: those of the last start on a data folder while they are free, so that pods and bookmarks find them. */
import { z } from "zod";
import { ConfigurationError } from "../../platform/kube/errors.ts";

/** Ports below need a right that most users lack; none of them was chosen here. */
const remembered = z.coerce.number().int().min(1024).max(65_535);

/** The port of the last start; 0, for any, where there is none. */
async function lastPort(file: string): Promise<number> {
  const text = await Deno.readTextFile(file).catch((error) => {
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  });
  return remembered.safeParse(text).data ?? 0;
}

/**
 * Starts a server at a port. Where any will do (0) and a file is given, that is the port that the file remembers, or a free
 * one if somebody else has it now; the file remembers which.
 */
export async function startAt<Server>(
  asked: number,
  file: string | undefined,
  start: (port: number) => Promise<Server>,
  portOf: (server: Server) => number | undefined,
): Promise<Server> {
  if (asked !== 0 || file === undefined) return await start(asked);
  const port = await lastPort(file);
  const server = await start(port).catch((error) => {
    if (port === 0 || !(error instanceof ConfigurationError)) throw error;
    return start(0);
  });
  await Deno.writeTextFile(file, String(portOf(server) ?? ""), { mode: 0o600 });
  return server;
}

/** Returns the port of a URL that names one. */
export function portOfUrl({ url }: { readonly url: string }): number {
  return Number(new URL(url).port);
}
