/** Keeps the webhook configurations in the cluster as they should be, CA bundle included. */
import { getLogger } from "@logtape/logtape";
import { KINDS } from "../crds/kinds.ts";
import type { Kind } from "../platform/kube/resource.ts";
import type {
  MutatingWebhookConfiguration,
  ValidatingWebhookConfiguration,
} from "../platform/kube/kubernetes.ts";
import type { Clock } from "../platform/base/clock.ts";
import { sameJson } from "../platform/base/json.ts";
import { type ObjectStore, upsert } from "../platform/kube/upsert.ts";
import {
  type ConfigurationOptions,
  mutatingConfiguration,
  validatingConfiguration,
} from "./configurations.ts";
import { type ChangeSource, runSteadyLoop } from "./steady_loop.ts";

const log = getLogger(["milepost", "webhook"]);

/** A write that the server acknowledged: nothing is left to do until another client writes. */
interface Settled {
  readonly resourceVersion: string | undefined;
  readonly webhooks: unknown;
}

interface Configuration {
  metadata?: { name?: string; resourceVersion?: string };
  webhooks?: unknown;
}

/**
 * Corrects one configuration: only its list of webhooks is compared, metadata is left to others. What a
 * server stores differently than it was sent is not sent again and again.
 */
async function keep<T extends Configuration>(
  store: ObjectStore<T>,
  kind: Kind<T>,
  wanted: T,
  settled: Map<string, Settled>,
  signal?: AbortSignal,
): Promise<void> {
  const name = wanted.metadata?.name ?? "";
  const isRight = (stored: T) => {
    if (sameJson(stored.webhooks, wanted.webhooks)) return true;
    const last = settled.get(name);
    return last?.resourceVersion === stored.metadata?.resourceVersion &&
      sameJson(last?.webhooks, wanted.webhooks);
  };
  const { outcome, object } = await upsert(store, kind, { name }, (stored) => {
    if (stored === undefined) return wanted;
    return isRight(stored) ? undefined : { ...stored, webhooks: wanted.webhooks };
  }, { signal });
  if (outcome === "unchanged") return;
  const { resourceVersion } = object?.metadata ?? {};
  settled.set(name, { resourceVersion, webhooks: wanted.webhooks });
  log.info(`webhook configuration ${outcome === "created" ? "created" : "corrected"}`, { name });
}

/** Keeps both configurations. */
export type ConfigurationSync = ReturnType<typeof createConfigurationSync>;

/** Creates the sync; it does nothing before `sync` or `run`. */
export function createConfigurationSync({ store, desired, clock, changes }: {
  readonly store:
    & ObjectStore<MutatingWebhookConfiguration>
    & ObjectStore<ValidatingWebhookConfiguration>;
  /** Returns the wanted configurations; called in every pass. */
  readonly desired: () => ConfigurationOptions;
  readonly clock: Clock;
  /** Says when a configuration or the CA bundle may have changed. */
  readonly changes?: ChangeSource;
}) {
  const settled = new Map<string, Settled>();

  /** Creates or corrects both; writes nothing where both are right. Throws `KubeError`. */
  async function sync(signal?: AbortSignal): Promise<void> {
    const wanted = desired();
    await keep<MutatingWebhookConfiguration>(
      store,
      KINDS.mutatingWebhookConfiguration,
      mutatingConfiguration(wanted),
      settled,
      signal,
    );
    await keep<ValidatingWebhookConfiguration>(
      store,
      KINDS.validatingWebhookConfiguration,
      validatingConfiguration(wanted),
      settled,
      signal,
    );
  }

  return {
    sync,
    /** Syncs again and again until `signal` aborts. */
    run: (signal: AbortSignal): Promise<void> =>
      runSteadyLoop({ name: "webhook configurations", clock, changes, pass: sync }, signal),
  };
}
