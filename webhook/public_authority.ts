/** The manager's CA where every authenticated user may read it, and no tenant may write it. */
import { getLogger } from "@logtape/logtape";
import { KINDS } from "../crds/kinds.ts";
import { CA_KEY, MANAGER } from "../crds/names.ts";
import type { KubeClient } from "../platform/kube/client.ts";
import type { Clock } from "../platform/base/clock.ts";
import { isAbsentOrForbidden, messageOf } from "../platform/kube/errors.ts";
import { type ChangeSource, runSteadyLoop } from "./steady_loop.ts";

const log = getLogger(["milepost", "webhook"]);

/** Writes the CAs into the public ConfigMap, which is installed with the manager, whenever it has others. */
export async function keepPublicAuthority(
  { client, namespace, caBundle, changes, clock }: {
    readonly client: Pick<KubeClient, "get" | "patch">;
    /** The manager's own. */
    readonly namespace: string;
    /** Returns the CAs, as PEM. */
    readonly caBundle: () => string;
    readonly changes: ChangeSource;
    readonly clock: Clock;
  },
  signal: AbortSignal,
): Promise<void> {
  const key = { namespace, name: MANAGER.publicConfigMap };
  /** Told once, not once a minute. */
  let isLacking = false;

  async function pass(): Promise<void> {
    const wanted = caBundle();
    try {
      const { data } = await client.get(KINDS.configMap, key, { signal });
      if (data?.[CA_KEY] !== wanted) {
        const body = { data: { [CA_KEY]: wanted } };
        await client.patch(KINDS.configMap, key, { type: "merge", body }, { signal });
      }
      isLacking = false;
    } catch (error) {
      if (!isAbsentOrForbidden(error)) throw error;
      log[isLacking ? "debug" : "warn"](
        "the CA cannot be published, so clients outside of jobs do not find it: apply Milepost's manifests",
        { configMap: `${namespace}/${key.name}`, problem: messageOf(error) },
      );
      isLacking = true;
    }
  }

  await runSteadyLoop({ name: "the public CA", clock, changes, pass }, signal);
}
