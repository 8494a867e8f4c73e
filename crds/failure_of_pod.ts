/** Failure of a pod: which of its containers ended how, or why it was ended as a whole. Pure. */
import { cutText, lastBytes, logText } from "../platform/base/hostile_text.ts";
import { compact } from "../platform/base/json.ts";
import { trueCondition } from "../platform/kube/conditions.ts";
import type { Pod } from "../platform/kube/kubernetes.ts";
import { FAILURE_LIMITS, type JobFailure } from "./job_failure.ts";
import { JOB_KEYS } from "./job_names.ts";
import { JOBSET_KEYS } from "./jobset_names.ts";
import { containerStatuses, isSidecar } from "./pod_containers.ts";
import { POD_CONDITIONS } from "./pod_names.ts";
import { V1_LABELS } from "./v1/names.ts";

/** The first failure of a pod, and how the pod goes on. */
export interface PodFailure {
  readonly failure: JobFailure;
  /** How long the container had run, in milliseconds; 0 if it had not, or that is not known. */
  readonly ranMs: number;
  /** How often a container was started again in this pod. */
  readonly restarts: number;
  /** Since when the container that failed runs again, RFC 3339. */
  readonly runsSince?: string | undefined;
}

/** Of a longer message nothing is read but this many characters at its end. */
const MESSAGE_READ = 4 * FAILURE_LIMITS.messageBytes;

/** Returns which replica of a job a pod is, by its labels, such as `node-0`; undefined if they do not say. */
export function replicaOf(labels: Readonly<Record<string, string>> = {}): string | undefined {
  const name = labels[JOBSET_KEYS.replicatedJobName] ?? labels[V1_LABELS.replicaType];
  const index = labels[JOB_KEYS.completionIndex] ?? labels[V1_LABELS.replicaIndex];
  if (name === undefined) return undefined;
  const job = labels[JOBSET_KEYS.jobIndex] ?? "0";
  return [name, ...(job === "0" ? [] : [job]), ...(index === undefined ? [] : [index])].join("-");
}

/** A message as it is kept: as a terminal would show it, its end if it is long. */
function kept(message: string | undefined): string | undefined {
  const text = logText((message ?? "").slice(-MESSAGE_READ)).trim();
  return text === "" ? undefined : lastBytes(text, FAILURE_LIMITS.messageBytes);
}

/** What is said of one failure. */
interface Cause {
  readonly at: string | undefined;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
  readonly container?: string;
  readonly exitCode?: number;
  readonly startedAt?: string | undefined;
}

/** The containers whose end matters; sidecars are ended last, by force. */
function statusesOf(pod: Pod) {
  const sidecars = new Set(pod.spec?.initContainers?.filter(isSidecar).map(({ name }) => name));
  return containerStatuses(pod).filter(({ name }) => !sidecars.has(name));
}

/** Ends of containers with another exit code than 0: of each the last, the earliest first. */
function failedContainers(statuses: ReturnType<typeof statusesOf>): Cause[] {
  return statuses.flatMap(({ name: container, state, lastState }) => {
    const ended = state?.terminated ?? lastState?.terminated;
    return ended && ended.exitCode !== 0 ? [{ ...ended, container, at: ended.finishedAt }] : [];
  }).sort((a, b) => (a.at ?? "~") < (b.at ?? "~") ? -1 : 1);
}

/** What has failed. */
function causeOf({ metadata, status }: Pod, [first]: readonly Cause[]): Cause | undefined {
  const disruption = trueCondition(status?.conditions, POD_CONDITIONS.disruptionTarget);
  const hasFailed = status?.phase === "Failed";
  const at = disruption?.lastTransitionTime ?? first?.at;
  if (hasFailed && status.reason) {
    return { at, reason: status.reason, message: status.message };
  }
  const isEnding = metadata?.deletionTimestamp !== undefined;
  if (disruption && (hasFailed || isEnding)) {
    const reason = disruption.reason || POD_CONDITIONS.disruptionTarget;
    return { at, reason, message: disruption.message };
  }
  // The containers of a pod that is deleted are ended by signals, which is no failure of theirs.
  if (isEnding) return undefined;
  if (first) return first;
  return hasFailed ? { at, message: status.message } : undefined;
}

function failureOf({ metadata, spec }: Pod, cause: Cause, time: string): JobFailure {
  return compact({
    replica: replicaOf(metadata?.labels),
    pod: metadata?.name,
    node: spec?.nodeName,
    container: cause.container,
    reason: cutText(cause.reason ?? "", FAILURE_LIMITS.reasonLength) || undefined,
    exitCode: cause.exitCode,
    message: kept(cause.message),
    time,
  });
}

/** Returns the pod's failure; undefined if it has none. A container that was restarted counts. */
export function podFailure(pod: Pod): PodFailure | undefined {
  const { metadata, status } = pod;
  if (status?.phase === "Succeeded") return undefined;
  const statuses = statusesOf(pod);
  const cause = causeOf(pod, failedContainers(statuses));
  if (cause === undefined) return undefined;
  const time = cause.at ?? status?.startTime ?? String(metadata?.creationTimestamp ?? "");
  const ranMs = Date.parse(time) - Date.parse(cause.startedAt ?? "");
  return {
    failure: failureOf(pod, cause, time),
    ranMs: ranMs > 0 ? ranMs : 0,
    restarts: Math.max(0, ...statuses.map(({ restartCount }) => restartCount)),
    runsSince: statuses.find(({ name }) => name === cause.container)?.state?.running?.startedAt,
  };
}
