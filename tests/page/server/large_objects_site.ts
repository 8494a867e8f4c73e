/** Site of the page in a process of its own, which asks itself for some paths at once; prints the answers and its most memory. */
import { z } from "zod";
import { createClient } from "../../../platform/kube/connection/connected_client.ts";
import { systemClock as clock } from "../../../platform/base/clock.ts";
import { connectionTo } from "../../../platform/kube/connection/kubeconfig.ts";
import { namedSite } from "../../support/named_readers.ts";

const { server, paths } = z.object({ server: z.string(), paths: z.array(z.string()) })
  .parse(JSON.parse(Deno.args[0] ?? ""));

const client = createClient({ connection: connectionTo({ server }) });
const site = namedSite(clock, () => client);

const answers = await Promise.all(paths.map(async (url, index) => {
  // Each is of a user of its own, since one user's would wait for each other.
  const headers: Record<string, string> = {
    host: "page.example",
    authorization: `Bearer user-${index}`,
  };
  const { status, body, stream } = await site({
    method: "GET",
    url,
    peer: "192.0.2.1",
    header: (name) => headers[name],
    readBody: () => Promise.resolve(new Uint8Array()),
  });
  let characters = body.length;
  await stream?.({
    signal: new AbortController().signal,
    write: (part) => Promise.resolve(void (characters += part.length)),
  });
  return { status, characters };
}));
client.close();
const [, peak] = /^VmHWM:\s+(\d+) kB/m.exec(await Deno.readTextFile("/proc/self/status")) ?? [];
Deno.stdout.writeSync(
  new TextEncoder().encode(JSON.stringify({ answers, peakMb: Number(peak) / 1024 })),
);
Deno.exit(0);
