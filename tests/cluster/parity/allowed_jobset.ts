/** Differences from upstream's JobSet controller that stay: `docs/internals/parity.md` says the same. */
import type { Allowed } from "./compare.ts";

/** Fields that upstream's webhook fills in. */
const DEFAULTS =
  /\/spec\/(network(\/\w+)?|startupPolicy|successPolicy|replicatedJobs\[\w+\]\/template\/spec\/(completionMode|template\/spec\/restartPolicy))$/;

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
    id: "stale-creations",
    why:
      "upstream, on a stale cache, tells for a moment that a Job could not be created because it exists",
    path: /^\/events\/Warning JobCreationFailed about tj$/,
    when: ({ upstream, milepost }) =>
      milepost === undefined && String(upstream).includes("already exists"),
    byChance: true,
  },
];
