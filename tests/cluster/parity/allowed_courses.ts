/** Differences from upstream's Trainer that stay, in the course of TrainJobs: their status, their events and their end. */
import type { Allowed } from "./compare.ts";

export const ALLOWED_COURSES: readonly Allowed[] = [
  {
    id: "state",
    why: "`status.state` is a field of Milepost's own, which the column STATE shows",
    path: /^\/trainJobs\/tj\/status\/state$/,
  },
  {
    id: "failure",
    why: "`status.failure` is a field of Milepost's own: which pod failed first and why",
    path: /^\/trainJobs\/tj\/status\/failure$/,
    when: ({ upstream }) => upstream === undefined,
  },
  {
    id: "restarts",
    why:
      "`status.restarts` is a field of Milepost's own: how often the job was started again as a whole",
    path: /^\/trainJobs\/tj\/status\/restarts$/,
    when: ({ upstream }) => upstream === undefined,
  },
  {
    id: "start-time",
    why:
      "`status.startTime` is a field of Milepost's own, since the condition that has the time of a resumption is removed",
    path: /^\/trainJobs\/tj\/status\/startTime$/,
    when: ({ upstream }) => upstream === undefined,
  },
  {
    id: "suspended-goes",
    why:
      "the condition Suspended is removed when a TrainJob resumes: the SDK reads any condition as not running (G19)",
    path: /^\/trainJobs\/tj\/status\/conditions\[Suspended\]$/,
    when: ({ milepost }) => milepost === undefined,
  },
  {
    id: "failed-is-final",
    why: "a TrainJob that failed is not run again when its JobSet is deleted (G24)",
    cases: ["nothing is made again for a TrainJob that failed"],
    path: /^\/(trainJobs\/tj\/status|jobSets\/tj)/,
  },
  {
    id: "foreign-jobset",
    why:
      "a JobSet of the same name that is not the TrainJob's is neither taken nor mirrored; condition and event tell (G12)",
    cases: ["a running JobSet of the same name that is not the TrainJob's"],
    path: /^\/(trainJobs\/tj\/status|configMaps|events)/,
  },
  {
    id: "foreign-child",
    why:
      "a ConfigMap or Secret of a child's name that is not the TrainJob's is refused by a condition and an event that name its owner; upstream takes it over, or its pods use it",
    cases: [
      "a snapshot of that name that is nobody's",
      "a hostfile of that name that is nobody's",
      "keys of mpi of that name that are nobody's",
      "scripts of flux of that name that are nobody's",
      "a certificate of flux of that name that is nobody's",
    ],
    path: /^\/(trainJobs\/tj\/status|jobSets|configMaps|secrets|events)/,
  },
  {
    id: "foreign-pod-group",
    why: "a pod group of that name that is not the TrainJob's is refused; upstream's pods join it",
    cases: ["a pod group of that name that is nobody's"],
    path: /^\/(trainJobs\/tj\/status|jobSets|configMaps|events)/,
  },
  {
    id: "lost-keys",
    why:
      "keys that are deleted are not made again while the job runs, because its pods have the old ones and Secrets are not watched",
    cases: ["mpi whose Secret is deleted"],
    path: /^\/(outcome|secrets)/,
  },
  {
    id: "frozen-jobset",
    why:
      "a change that a paused JobSet cannot take is reported by a condition, too, which says what to do (G14)",
    cases: [
      "a suspended TrainJob is given what its JobSet does not take",
      "a patch of a suspended TrainJob goes",
      "a patch of a TrainJob goes as it resumes",
    ],
    path: /^\/(trainJobs\/tj\/status\/conditions\[(ResourcesCreated|Suspended)\]|events)/,
  },
  {
    id: "creation-failed",
    why: "a JobSet that cannot be created is reported by a condition, too",
    cases: [
      "a JobSet that depends on a later job is refused",
      "a JobSet whose success policy targets nothing is refused",
      "a JobSet whose failure rule targets nothing is refused",
    ],
    path: /^\/trainJobs\/tj\/status\/conditions\[ResourcesCreated\]$/,
  },
  {
    id: "claims-again",
    why:
      "a JobSet with volume claims is not applied again while it is suspended; upstream's is, and the API server refuses that",
    path: /^\/events\/Warning TrainJobResourcesCreationFailed about tj$/,
    when: ({ upstream, milepost }) =>
      milepost === undefined && String(upstream).includes("volumeClaimPolicies: Invalid value"),
    byChance: true,
  },
  {
    id: "deadline-counters",
    why:
      "after a deadline the counters follow the pods; upstream's freeze, or vanish, by chance (G26)",
    cases: ["a deadline passes", "a deadline begins when the job resumes"],
    path: /^\/trainJobs\/tj\/status\/jobsStatus/,
    byChance: true,
  },
  {
    id: "recreated-counters",
    why:
      "when a JobSet was deleted by hand, the counters follow the new one; upstream's were sometimes missing",
    cases: ["a JobSet that was deleted is made again"],
    path: /^\/trainJobs\/tj\/status\/jobsStatus/,
    byChance: true,
  },
  {
    id: "job-events",
    why: "events say what happened to a TrainJob, where upstream's has none",
    path:
      /^\/events\/(Normal (JobSetCreated|Running|Suspended|Resumed|Completed)|Warning Failed) about .+$/,
    when: ({ upstream }) => upstream === undefined,
  },
];
