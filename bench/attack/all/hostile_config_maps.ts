/** ConfigMaps of a hostile tenant, labelled as ours, that are written again and again. */
import { KINDS } from "../../../crds/kinds.ts";
import { childNames } from "../../../crds/names.ts";
import type { KubeClient } from "../../../platform/kube/client.ts";
import { systemClock } from "../../../platform/base/clock.ts";
import { createHostileConfigMaps } from "../hostile_objects.ts";

const COUNT = 60;
const BYTES = 1_000_000;

/** Creates them. */
export async function createConfigMaps(client: KubeClient, namespace: string): Promise<void> {
  const { metadata: owner } = await client.create(KINDS.configMap, {
    metadata: { namespace, name: "owner" },
  });
  await createHostileConfigMaps(client, { namespace, count: COUNT, bytes: BYTES, owner });
}

/** Writes one each `everyMs` until `signal` aborts. */
export async function writeConfigMaps(
  client: KubeClient,
  { namespace, everyMs }: { readonly namespace: string; readonly everyMs: number },
  signal: AbortSignal,
): Promise<void> {
  for (let written = 0; !signal.aborted; written++) {
    const name = childNames.tlsConfig(`hostile-${written % COUNT}`);
    const body = { data: { written: String(written) } };
    await client.patch(KINDS.configMap, { namespace, name }, { type: "merge", body });
    await systemClock.sleep(everyMs, signal);
  }
}
