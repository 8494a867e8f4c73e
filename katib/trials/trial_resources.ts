/** Trial resources of a manager: which of them the API server serves, and lets it read. */
import { getLogger } from "@logtape/logtape";
import { z } from "zod";
import type { JobKind } from "../../crds/job_kind.ts";
import type { PolicyRule } from "../../platform/kube/kubernetes.ts";
import {
  formatTrialResource,
  guessPlural,
  type TrialResource,
  trialResourceKind,
} from "../../crds/trial_resource.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { isNotFound, messageOf } from "../../platform/kube/errors.ts";
import { createSwitch, type Switch } from "../../platform/base/switch.ts";

const log = getLogger(["milepost", "katib"]);

/** Time between two looks at the API server, in milliseconds. */
const LOOK_MS = 10_000;
/** Deadline of one request, in milliseconds. */
const DEADLINE_MS = 5_000;

/** The verbs by which objects are followed, and those by which they are ended. */
const FOLLOWING = ["get", "list", "watch"] as const;
const VERBS = [...FOLLOWING, "patch", "delete"] as const;
const REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

const reviewSchema = z.looseObject({ status: z.looseObject({ allowed: z.boolean() }) });
const resourcesSchema = z.looseObject({
  resources: z.array(z.looseObject({ name: z.string(), kind: z.string() })),
});

/** Asks the API server for the plural of a kind. Returns undefined if it does not serve the kind. */
async function servedPlural(
  client: Pick<KubeClient, "read">,
  { kind, version, group }: TrialResource,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const path = `/apis/${group}/${version}`;
  try {
    const { text } = await client.read(path, { deadlineMs: DEADLINE_MS, signal });
    const { resources } = resourcesSchema.parse(JSON.parse(text));
    return resources.find((it) => it.kind === kind && !it.name.includes("/"))?.name;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
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

/** The trial resources that can be followed now. */
export interface TrialResources {
  /** Returns the switch of a kind: it is on while the kind is served and may be read. */
  of(kind: JobKind): Switch;
  /** Looks again and again until `signal` aborts. */
  run(signal: AbortSignal): Promise<void>;
}

/** Options of {@link createTrialResources}. */
export interface TrialResourcesOptions {
  readonly client: Pick<KubeClient, "read">;
  readonly clock: Pick<Clock, "sleep">;
  readonly kinds: readonly JobKind[];
  /** The user that lacks rights, in messages. */
  readonly account: string;
  /** A number from 0 up to 1, for jitter. Default `Math.random`. */
  readonly random?: () => number;
}

/** Whether a kind can be followed, and what is missing. */
interface Look {
  readonly on: boolean;
  readonly why?: string;
}

/** Creates {@link TrialResources} for the kinds that are trial resources; nothing is known before it runs. */
export function createTrialResources(options: TrialResourcesOptions): TrialResources {
  const { client, clock, account, random = Math.random } = options;
  const kinds = options.kinds.filter(({ isForeign }) => isForeign);
  const switches = new Map(kinds.map((kind) => [kind, createSwitch()]));
  /** What was logged last of each kind. */
  const said = new Map<JobKind, string>();

  async function look(kind: JobKind, signal: AbortSignal): Promise<Look> {
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
  async function missingVerbs({ group, plural }: JobKind, signal: AbortSignal): Promise<string[]> {
    const allowed = await Promise.all(VERBS.map(async (verb) => {
      const { text } = await client.read(REVIEWS, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({
          apiVersion: "authorization.k8s.io/v1",
          kind: "SelfSubjectAccessReview",
          spec: { resourceAttributes: { group, resource: plural, verb } },
        }),
        signal,
        deadlineMs: DEADLINE_MS,
      });
      return reviewSchema.parse(JSON.parse(text)).status.allowed;
    }));
    return VERBS.filter((_, at) => !allowed[at]);
  }

  function tell(kind: JobKind, result: Look): void {
    const news = JSON.stringify(result);
    if (said.get(kind) === news) return;
    said.set(kind, news);
    const resource = formatTrialResource(kind);
    const { on, why } = result;
    if (!on) log.warn("trials over this resource are not recorded", { resource, why });
    else log.info("trials over this resource are recorded", { resource });
    if (on && why !== undefined) {
      log.warn("jobs of this resource go on when their trials are stopped", { resource, why });
    }
  }

  async function update(kind: JobKind, signal: AbortSignal): Promise<void> {
    const power = switches.get(kind);
    const result = await look(kind, signal).catch((error): Look | undefined => {
      if (signal.aborted) return undefined;
      // What worked goes on: its watch has its own retries.
      if (power?.on) return undefined;
      return { on: false, why: `the API server cannot be asked: ${messageOf(error)}` };
    });
    if (result === undefined) return;
    tell(kind, result);
    power?.turn(result.on);
  }

  return {
    of(kind) {
      const found = switches.get(kind);
      if (found === undefined) throw new RangeError(`${kind.id} is not a trial resource`);
      return found;
    },
    async run(signal) {
      if (kinds.length === 0) return;
      while (!signal.aborted) {
        await Promise.all(kinds.map((kind) => update(kind, signal)));
        await clock.sleep(LOOK_MS * (0.8 + 0.2 * random()), signal);
      }
    },
  };
}
