/** Trial resources of a manager: which of them the API server serves, and lets it read. */
import { getLogger } from "@logtape/logtape";
import type { JobKind } from "../../crds/job_kind.ts";
import type { PolicyRule } from "../../platform/kube/kubernetes.ts";
import {
  formatTrialResource,
  type TrialResource,
  trialResourceKind,
} from "../../crds/trial_resource.ts";
import { apiVersionOf, guessPlural } from "../../platform/kube/resource.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { messageOf } from "../../platform/kube/errors.ts";
import { mayDo } from "../../platform/kube/self_reviews.ts";
import { servedPlurals } from "../../platform/kube/watching/served_kinds.ts";
import { createNotices } from "../../platform/base/notices.ts";
import { createPoll } from "../../platform/base/poll.ts";
import { createSwitch, type Switch, type Turnable } from "../../platform/base/switch.ts";

const log = getLogger(["milepost", "katib"]);

/** Longest time between two polls of the API server, in milliseconds. */
const POLL_MS = 10_000;

/** The verbs by which objects are followed, and those by which they are ended. */
const FOLLOWING = ["get", "list", "watch"] as const;
const VERBS = [...FOLLOWING, "patch", "delete"] as const;

/** Asks the API server for the plural of a kind. Returns undefined if it does not serve the kind. */
async function servedPlural(
  client: Pick<KubeClient, "read">,
  resource: TrialResource,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const served = await servedPlurals(client, apiVersionOf(resource), signal);
  return [...served].find(([, kind]) => kind === resource.kind)?.[0];
}

/**
 * Returns the descriptors. The plural of a kind that is not served yet, or of which the API server cannot be asked, is
 * the usual one.
 */
export function findTrialResources(
  client: Pick<KubeClient, "read">,
  resources: readonly TrialResource[],
): Promise<JobKind[]> {
  return Promise.all(resources.map(async (resource) => {
    const plural = await servedPlural(client, resource).catch((error) => {
      const fields = { resource: formatTrialResource(resource), error: messageOf(error) };
      log.debug("cannot ask for the plural of a trial resource", fields);
      return undefined;
    });
    return trialResourceKind(resource, plural ?? guessPlural(resource.kind));
  }));
}

/** Returns the rights that a manager needs for trial resources: to follow them, and to end those that are stopped. */
export function trialResourceRules(kinds: readonly JobKind[]): PolicyRule[] {
  return kinds.filter(({ isForeign }) => isForeign).map(({ group, plural }) => ({
    apiGroups: [group],
    resources: [plural],
    verbs: [...VERBS],
  }));
}

/** Whether a kind can be followed, and what is missing. */
interface Found {
  readonly on: boolean;
  readonly why?: string;
}

/** The trial resources that can be followed now. */
export type TrialResources = ReturnType<typeof createTrialResources>;

/** Creates {@link TrialResources} for the kinds that are trial resources; nothing is known before it runs. */
export function createTrialResources(options: {
  readonly client: Pick<KubeClient, "create" | "read">;
  readonly clock: Pick<Clock, "sleep">;
  readonly kinds: readonly JobKind[];
  /** The user that lacks rights, in messages. */
  readonly account: string;
  /** A number from 0 up to 1, for jitter. Default `Math.random`. */
  readonly random?: () => number;
}) {
  const { client, clock, account, random } = options;
  const kinds = options.kinds.filter(({ isForeign }) => isForeign);
  const switches = new Map(kinds.map((kind) => [kind, createSwitch()]));
  // There may be no kind at all; a memory has at least one place.
  const isNews = createNotices(kinds.length + 1);

  async function find(kind: JobKind, signal: AbortSignal): Promise<Found> {
    const plural = await servedPlural(client, kind, signal);
    if (plural === undefined) {
      return { on: false, why: "the API server does not serve it: install its definition" };
    }
    if (plural !== kind.plural) {
      return {
        on: false,
        why: `its plural is ${plural}, and not ${kind.plural}: restart the manager`,
      };
    }
    const missing = await missingVerbs(kind, signal);
    if (missing.length === 0) return { on: true };
    const why = `grant ${account} a ClusterRole with the verbs ${missing.join(", ")} on ${kind.id}`;
    return { on: !missing.some((verb) => FOLLOWING.some((it) => it === verb)), why };
  }

  /** Returns the verbs that this manager may not use on objects of the kind. */
  async function missingVerbs(kind: JobKind, signal: AbortSignal): Promise<string[]> {
    const allowed = await Promise.all(
      VERBS.map((verb) => mayDo(client, { verb, kind }, signal)),
    );
    return VERBS.filter((_, at) => !allowed[at]);
  }

  function tell(kind: JobKind, result: Found): void {
    if (!isNews(kind.id, JSON.stringify(result))) return;
    const resource = formatTrialResource(kind);
    const { on, why } = result;
    if (!on) log.warn("trials over this resource are not recorded", { resource, why });
    else log.info("trials over this resource are recorded", { resource });
    if (on && why !== undefined) {
      log.warn("jobs of this resource go on when their trials are stopped", { resource, why });
    }
  }

  /** Returns whether the API server could be asked. */
  async function update(kind: JobKind, served: Turnable, signal: AbortSignal): Promise<boolean> {
    const take = (result: Found) => {
      tell(kind, result);
      served.turn(result.on);
    };
    try {
      take(await find(kind, signal));
      return true;
    } catch (error) {
      // What worked goes on: its watch has its own retries.
      const goesOn = signal.aborted || served.on;
      if (!goesOn) take({ on: false, why: `the API server cannot be asked: ${messageOf(error)}` });
      return false;
    }
  }

  const poll = createPoll({
    clock,
    random,
    everyMs: POLL_MS,
    async ask(signal) {
      const asked = [...switches].map(([kind, served]) => update(kind, served, signal));
      return (await Promise.all(asked)).every((it) => it);
    },
  });

  return {
    /** Returns the switch of a kind: it is on while the kind is served and may be read. */
    of(kind: JobKind): Switch {
      const found = switches.get(kind);
      if (found === undefined) throw new RangeError(`${kind.id} is not a trial resource`);
      return found;
    },
    /** Asks again and again until `signal` aborts. */
    run: (signal: AbortSignal) => kinds.length === 0 ? Promise.resolve() : poll.run(signal),
  };
}
