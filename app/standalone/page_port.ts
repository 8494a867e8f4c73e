/** Port of the page over restarts: that of the last start on a data folder while it is free, so that a bookmark stays good. */
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

/** Starts a server of a URL at the port that `file` remembers, or at a free one if somebody else has that now, and remembers it. */
export async function atLastPort<Server extends { readonly url: string }>(
  file: string,
  start: (port: number) => Promise<Server>,
): Promise<Server> {
  const port = await lastPort(file);
  const server = await start(port).catch((error) => {
    if (port === 0 || !(error instanceof ConfigurationError)) throw error;
    return start(0);
  });
  await Deno.writeTextFile(file, new URL(server.url).port, { mode: 0o600 });
  return server;
}
