/** Wiring of the status endpoint: authentication, lookups and the chain of stages. */
import { type AnyJob, type JobKind, jobNow, type JobRef } from "../../crds/job_kind.ts";
import { KINDS } from "../../crds/kinds.ts";
import type { Kind } from "../../platform/kube/resource.ts";
import { WATCHED } from "../../crds/watched.ts";
import { controlShown } from "../../owner/observations/stop_decision.ts";
import type { TakeBeat } from "../../crds/wire/push.ts";
import type { AcceptPush } from "../../crds/wire/push_answer.ts";
import type { Lookup } from "../../platform/kube/watching/cached_lookup.ts";
import { isRemoval } from "../../platform/kube/watching/informer_cache.ts";
import {
  createOwnership,
  type KindLookups,
  type OwnedObject,
  type OwnershipLookups,
} from "../../status/ownership/ownership.ts";
import type { ReadingParts } from "../../status/reading/read_stages.ts";
import { createPeers } from "../../platform/http/limits/peers.ts";
import { createPushHandler, DEFAULT_RATE_LIMITS } from "../../status/chain/push_handler.ts";
import { createReadBudget } from "../../platform/http/limits/read_budget.ts";
import { createAuthentication } from "./authentication.ts";
import type { ManagerContext, ManagerParts } from "./manager_parts.ts";
import { createObjectLookup } from "./object_lookup.ts";
import { isTrialsPush } from "../../status/ownership/trial_pushes.ts";

/** Dependencies of the endpoint. */
export interface StatusParts
  extends
    Pick<ManagerContext, "kinds" | "client" | "clock" | "configuration" | "metrics">,
    Pick<ManagerParts, "caches"> {
  /** Passes a push to the owner of the state. */
  readonly accept: AcceptPush;
  /** Passes a heartbeat to that owner. */
  readonly beat: TakeBeat;
  /** Reads at that owner. */
  readonly reading: ReadingParts;
}

/** Finds a job by name. Throws if that cannot be known now. */
export type FindJob = (
  job: Pick<JobRef, "kind" | "namespace" | "name">,
) => AnyJob | undefined | Promise<AnyJob | undefined>;

/** Creates the lookup of jobs for readers of observations, with a budget of reads of its own. */
export function createFindJob(
  parts: Pick<StatusParts, "client" | "caches" | "clock">,
): FindJob {
  const { client, caches, clock } = parts;
  const bounded = { client, clock, budget: createReadBudget({ clock }) };
  const lookups = new Map(
    [...caches.byKind].map(([kind, { jobs }]) => [kind, createObjectLookup(bounded, kind, jobs)]),
  );
  return ({ kind, namespace, name }) => lookupIn(lookups, kind)({ namespace, name });
}

/** The entry of a kind. Throws if it has none: a bug. */
function lookupIn<K extends { readonly plural: string }, V>(
  entries: ReadonlyMap<K, V>,
  kind: K,
): V {
  const found = entries.get(kind);
  if (found === undefined) throw new Error(`no lookup for ${kind.plural}`);
  return found;
}

/** Creates the lookups for the objects of owner paths; all share one budget of reads. */
function lookupsOf(parts: StatusParts): OwnershipLookups {
  const { client, caches, clock } = parts;
  const bounded = { client, clock, budget: createReadBudget({ clock }) };
  const kinds = new Map([...caches.byKind].map(([kind, { jobs, pods }]): [JobKind, KindLookups] => [
    kind,
    {
      job: createObjectLookup(bounded, kind, jobs),
      jobNow: (key) => jobs.get(key),
      pod: createObjectLookup(bounded, WATCHED.pod, pods),
    },
  ]));
  const owners = new Map<Kind<unknown>, Lookup<OwnedObject>>([
    [KINDS.jobSet, createObjectLookup(bounded, WATCHED.jobSet, caches.jobSets)],
    [KINDS.job, createObjectLookup(bounded, WATCHED.job, caches.batchJobs)],
  ]);
  return {
    ofKind: (kind) => lookupIn(kinds, kind),
    owner: (kind) => lookupIn(owners, kind),
    serviceAccount: createObjectLookup(bounded, WATCHED.serviceAccount, caches.serviceAccounts),
  };
}

/** Builds the endpoint. It serves nothing before its handler is given to a server. */
export function createStatusEndpoint(parts: StatusParts) {
  const { caches, clock, configuration, metrics } = parts;
  const authentication = createAuthentication(parts);
  const { verifier, reviews } = authentication;
  const ownership = createOwnership({ lookups: lookupsOf(parts) });
  const { failuresPerPeer: failures, maxKeys } = DEFAULT_RATE_LIMITS;
  const peers = createPeers({ failures, maxKeys });
  const handler = createPushHandler({
    kinds: parts.kinds,
    peers,
    verifier,
    ownership,
    ...(reviews === undefined ? {} : { reviews }),
    awaitsReview: (origin) => isTrialsPush(caches.byKind, origin),
    accept: parts.accept,
    beat: parts.beat,
    controlNow(ref) {
      const job = jobNow(caches.byKind, ref);
      return job && controlShown(ref.kind, job);
    },
    reading: parts.reading,
    clock,
    limits: {
      pushesPerPod: {
        ratePerSecond: configuration.pushQpsPerPod,
        burst: configuration.pushBurstPerPod,
      },
      pushesPerSubject: {
        ratePerSecond: configuration.pushQpsPerSubject,
        burst: configuration.pushBurstPerSubject,
      },
    },
    onPush: (result, seconds) => {
      metrics.pushes.inc({ result });
      metrics.pushSeconds.observe(seconds);
    },
    onRead: (kind, result) => metrics.reads.inc({ kind, result }),
  });
  const stops = [...caches.byKind.values()].map(({ pods }) =>
    pods.onChange((change) => {
      const uid = change.object.metadata?.uid;
      if (isRemoval(change) && uid !== undefined) ownership.forgetPod(uid);
    })
  );
  return {
    handler,
    /** Failures by peer address; new connections of some are refused before the handshake. */
    peers,
    /** Returns whether tokens can be verified. */
    ready: authentication.ready,
    /** Refreshes keys until `signal` aborts. */
    run: authentication.run,
    /** Ends running reviews. */
    close: async (): Promise<void> => {
      stops.forEach((stop) => stop());
      await authentication.close();
    },
  };
}
