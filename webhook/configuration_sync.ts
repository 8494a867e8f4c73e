/** Keeps the webhook configurations in the cluster as they should be, CA bundle included. */
import { getLogger } from "@logtape/logtape";
import { isDeepStrictEqual } from "node:util";
import { type Kind, KINDS } from "../crds/kinds.ts";
import type {
  MutatingWebhookConfiguration,
  ValidatingWebhookConfiguration,
} from "../crds/kubernetes.ts";
import type { Clock } from "../kube/clock.ts";
import { isAlreadyExists, isConflict, isNotFound } from "../kube/errors.ts";
import {
  type ConfigurationOptions,
  mutatingConfiguration,
  validatingConfiguration,
} from "./configurations.ts";
import type { ChangeSource, ObjectStore } from "./object_store.ts";
import { runSteadyLoop } from "./steady_loop.ts";

const log = getLogger(["milepost", "webhook"]);

/** Attempts at writing one configuration before a pass gives up. */
const ATTEMPTS = 5;
/** Time between looks where nothing says that something changed, in milliseconds. */
const RESYNC_MS = 60_000;

/** What the sync works with. */
export interface ConfigurationSyncOptions {
  readonly store:
    & ObjectStore<MutatingWebhookConfiguration>
    & ObjectStore<ValidatingWebhookConfiguration>;
  /** What should be there now; read again in every pass. */
  readonly desired: () => ConfigurationOptions;
  readonly clock: Clock;
  /** Says when a configuration or the CA bundle may have changed. */
  readonly changes?: ChangeSource;
  /** Time between looks where `changes` is silent, in milliseconds. */
  readonly resyncMs?: number;
}

/** Keeps both configurations. */
export interface ConfigurationSync {
  /** Creates or corrects both; writes nothing where both are right. Throws `KubeError`. */
  sync(signal?: AbortSignal): Promise<void>;
  /** Syncs again and again until `signal` aborts. */
  run(signal: AbortSignal): Promise<void>;
}

/** A write that the server answered: as long as nobody else writes, nothing is left to do. */
interface Settled {
  readonly resourceVersion: string | undefined;
  readonly webhooks: unknown;
}

interface Configuration {
  metadata?: { name?: string; resourceVersion?: string };
  webhooks?: unknown;
}

/**
 * Corrects one configuration. Its metadata is whoever's it is; the list of webhooks is ours. What a
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
  const settle = (stored: T) => {
    const { resourceVersion } = stored.metadata ?? {};
    settled.set(name, { resourceVersion, webhooks: wanted.webhooks });
  };
  const isSettled = (found: T) => {
    const last = settled.get(name);
    return last !== undefined && last.resourceVersion === found.metadata?.resourceVersion &&
      isDeepStrictEqual(last.webhooks, wanted.webhooks);
  };
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    try {
      const found = await store.get(kind, { name }, { signal });
      if (isSettled(found) || isDeepStrictEqual(found.webhooks, wanted.webhooks)) return;
      settle(await store.replace(kind, { ...found, webhooks: wanted.webhooks }, { signal }));
      log.info("webhook configuration corrected", { name });
      return;
    } catch (error) {
      if (isConflict(error)) continue;
      if (!isNotFound(error)) throw error;
    }
    try {
      settle(await store.create(kind, wanted, { signal }));
      log.info("webhook configuration created", { name });
      return;
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
  }
  throw new Error(`${kind.kind} ${name} changed ${ATTEMPTS} times while writing it`);
}

/** Creates the sync; it does nothing before `sync` or `run`. */
export function createConfigurationSync(options: ConfigurationSyncOptions): ConfigurationSync {
  const { store, desired, clock, changes, resyncMs = RESYNC_MS } = options;
  const settled = new Map<string, Settled>();

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
    run: (signal) =>
      runSteadyLoop({
        name: "webhook configurations",
        clock,
        changes,
        pass: async () => {
          await sync(signal);
          return resyncMs;
        },
      }, signal),
  };
}
