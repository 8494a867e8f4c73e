/** Events about a JobSet. */
import type { JobSet } from "../../crds/jobset.ts";
import { JOBSET_API_VERSION } from "../../crds/jobset_names.ts";
import type { EventRecorder, EventText } from "../../platform/kube/events.ts";

/** The JobSet that an event is about, and the recorder. */
export interface EventAbout {
  readonly jobSet: JobSet;
  readonly events: Pick<EventRecorder, "record">;
}

/** Records an event about the JobSet. */
export function recordEvent({ events, jobSet }: EventAbout, event: EventText): void {
  const { name = "", namespace, uid } = jobSet.metadata;
  events.record({ apiVersion: JOBSET_API_VERSION, kind: "JobSet", namespace, name, uid }, event);
}
