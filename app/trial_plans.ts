/** Plans of TrainJobs by the manager's caches, its settings, and the log that it writes. */
import type { ObservationSink } from "../katib/log/sink.ts";
import { createNotifier } from "../katib/trials/notifier.ts";
import type { PlanSettings } from "../katib/trials/plan_of.ts";
import { createPlans, type TrialPlans } from "../katib/trials/plans.ts";
import type { KubeClient } from "../kube/client.ts";
import type { Clock } from "../kube/clock.ts";
import type { EventRecorder } from "../kube/events.ts";
import { type Caches, INDEXES } from "./caches.ts";
import type { ManagerConfiguration } from "./configuration.ts";
import { katibIsKeptOut } from "./katib_webhook.ts";

/** Deadline of one read where a cache is behind, in milliseconds. */
const READ_DEADLINE_MS = 2_000;

/** What they are made of. */
export interface TrialPlanParts {
  readonly client: KubeClient;
  readonly caches: Pick<Caches, "trainJobs" | "trials" | "pods" | "mutatingConfigurations">;
  readonly clock: Clock;
  readonly events: Pick<EventRecorder, "record">;
  readonly configuration: Pick<ManagerConfiguration, "adoptCollectors">;
  /** The log that is written now; undefined where that is not known yet. */
  readonly sink: () => Pick<ObservationSink, "name" | "keepsPlainJobs"> | undefined;
}

/** Nothing is adopted while Katib's own webhook puts its collectors into the same pods. */
function settingsOf({ caches, configuration, sink }: TrialPlanParts): PlanSettings {
  const keptOut = katibIsKeptOut(caches.mutatingConfigurations);
  const { name, keepsPlainJobs = false } = sink() ?? {};
  return {
    adopted: new Set(keptOut ? configuration.adoptCollectors : []),
    // Over gRPC a trial's log has its Trial's name, whoever serves it.
    namesOnly: name === "katib" || name === "grpc",
    keepsPlainJobs,
  };
}

/** The plans of this replica; what they find wrong is told by events. */
export function createTrialPlans(parts: TrialPlanParts): TrialPlans {
  const { client, caches, clock, events } = parts;
  return createPlans({
    trainJobs: caches.trainJobs,
    trials: caches.trials,
    pods: caches.pods,
    indexes: { name: INDEXES.name, job: INDEXES.job },
    client,
    clock,
    settings: () => settingsOf(parts),
    notify: createNotifier(events),
    deadlineMs: READ_DEADLINE_MS,
  });
}
