/** A log of observations that several managers share, in this process. */
import { z } from "zod";
import { startObservationLog } from "../../../app/observation_log/observation_log.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { MANAGER } from "../../../crds/names.ts";
import type { KubeClient } from "../../../platform/kube/client.ts";
import { freePort } from "../../support/free_port.ts";
import { leaderAmong, type Replicas, withReplicas } from "../manager/replicas.ts";

const text = z.string().transform((it) => atob(it));
const secretSchema = z.looseObject({
  data: z.looseObject({ "ca.crt": text, "tls.crt": text, "tls.key": text }),
});

/** Writes the certificates that the first manager made into a folder. */
export async function writeCertificates(client: KubeClient, folder: string): Promise<void> {
  const key = { namespace: MANAGER.namespace, name: MANAGER.certificateSecret };
  const { data } = secretSchema.parse(await client.get(KINDS.secret, key));
  for (const [name, content] of Object.entries(data)) {
    await Deno.writeTextFile(`${folder}/${name}`, String(content));
  }
}

/** The log of observations, with the certificates that the first manager made. */
export async function startLog(client: KubeClient, port: number, folder: string) {
  await writeCertificates(client, folder);
  return await startObservationLog({
    bindAddress: "127.0.0.1",
    port,
    dataDir: folder,
    tlsCert: `${folder}/tls.crt`,
    tlsKey: `${folder}/tls.key`,
    clientCa: `${folder}/ca.crt`,
  });
}

/** Managers that share a log over gRPC, and where that is. */
export interface LoggedReplicas
  extends Pick<Replicas, "plane">, Awaited<ReturnType<typeof leaderAmong>> {
  readonly port: number;
  readonly folder: string;
}

/** Runs `work` with managers of these names, which share a log: it has the certificates that the first one made. */
export async function withLoggedReplicas(
  [first = "", ...others]: readonly string[],
  work: (replicas: LoggedReplicas) => Promise<void>,
): Promise<void> {
  const port = freePort();
  const folder = await Deno.makeTempDir();
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => Deno.remove(folder, { recursive: true }));
  await withReplicas(async ({ plane, start }) => {
    const flags = { observationSink: `grpc:127.0.0.1:${port}` };
    const replicas = [await start(first, { flags })];
    await using logCleanup = new AsyncDisposableStack();
    const log = await startLog(plane.client, port, folder);
    logCleanup.defer(() => log.stop());
    for (const name of others) replicas.push(await start(name, { flags }));
    await work({ plane, port, folder, ...await leaderAmong(replicas) });
  });
}
