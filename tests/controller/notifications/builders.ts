/** Builders of jobs, sinks and notices for the tests of notifications. */
import type { AnyJob } from "../../../crds/job_kind.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import {
  type JobNotice,
  NOTIFIED_EVENTS,
} from "../../../controller/notifications/notice_of_change.ts";
import type { Sink } from "../../../controller/notifications/notified_sink.ts";

/** A time of the fake clock's first minutes. */
export const T0 = "2026-01-01T00:00:00Z";

/** A condition that is True. */
export const isTrue = (type: string, message = "", lastTransitionTime = T0) => ({
  type,
  status: "True",
  message,
  lastTransitionTime,
});

/** A TrainJob with that status. */
export function job(status: AnyJob["status"] = {}, name = "bert", namespace = "team-a"): AnyJob {
  return {
    apiVersion: TRAINJOB.apiVersion,
    kind: "TrainJob",
    metadata: { name, namespace, uid: `uid-${name}` },
    status,
  };
}

/** One that failed. */
export const failedJob = (name = "bert", namespace = "team-a", at = T0) =>
  job({ state: "Failed", conditions: [isTrue("Failed", "it broke", at)] }, name, namespace);

/** A sink of all events. */
export const sink = (more: Partial<Sink> = {}): Sink => ({
  name: "all",
  form: "json",
  namespaces: undefined,
  events: NOTIFIED_EVENTS,
  texts: true,
  pageUrl: undefined,
  url: () => Promise.resolve("http://127.0.0.1:9"),
  ...more,
});

/** A notice of a job of that name. */
export const notice = (
  name: string,
  more: Partial<JobNotice> = {},
  namespace = "team-a",
): JobNotice => ({
  id: `uid-${name}-Failed-${T0}`,
  event: "Failed",
  job: { kind: TRAINJOB, namespace, name, uid: `uid-${name}` },
  state: "Failed",
  since: T0,
  text: "it broke",
  ...more,
});
