/** Differences from upstream's JobSet controller that stay: `docs/internals/parity.md` says the same. */
import { isDeepStrictEqual } from "node:util";
import type { Allowed } from "./compare.ts";

/** Fields that upstream's webhook fills in. */
const DEFAULTS =
  /\/spec\/(network(\/\w+)?|startupPolicy|successPolicy|replicatedJobs\[\w+\]\/template\/spec\/(completionMode|template\/spec\/restartPolicy))$/;

/** Policies of volume claims with the retention that upstream's webhook fills in. */
function withRetention(policies: unknown): unknown {
  const retentionPolicy = { whenDeleted: "Delete" };
  return Array.isArray(policies)
    ? policies.map((policy: unknown) => Object.assign({ retentionPolicy }, policy))
    : policies;
}

/** Every entry must happen, and nothing else may. */
export const ALLOWED_JOBSET: readonly Allowed[] = [
  {
    id: "defaults-in-memory",
    why:
      "the defaults of a JobSet are applied on every pass, with or without a webhook, and not written into its spec",
    path: DEFAULTS,
    when: ({ milepost }) => milepost === undefined,
  },
  {
    id: "retention-in-memory",
    why: "so is the retention policy of volume claims, which is Delete",
    path: /\/spec\/volumeClaimPolicies$/,
    when: ({ upstream, milepost }) => isDeepStrictEqual(upstream, withRetention(milepost)),
  },
  {
    id: "rule-names",
    why: "a rule of a failure policy needs a name: upstream's webhook makes one up",
    cases: ["a rule without a name"],
    path: /^\/answers\/0\/(result|message)$/,
  },
  {
    id: "status-of-nothing",
    why: "a JobSet without jobs gets a status of zeros; upstream writes none",
    cases: ["no jobs"],
    path: /^\/jobSets\/tj\/status$/,
  },
  {
    id: "former-placement",
    why:
      "a Job that is resumed loses the placement that the JobSet's former template brought; upstream removes nothing",
    cases: ["resumed with another placement"],
    path: /^\/(jobs|pods)\/.*\/(nodeSelector|schedulingGates)(\/|\[|$)/,
  },
  {
    id: "stale-creations",
    why:
      "upstream, on a stale cache, tells for a moment that a Job could not be created because it exists",
    path: /^\/events\/Warning JobCreationFailed about tj$/,
    when: ({ upstream, milepost }) =>
      milepost === undefined && String(upstream).includes("already exists"),
    byChance: true,
  },
];
