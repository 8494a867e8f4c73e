/** Pods and events of a job as the page shows them. Pure. */
import { naturalOrder } from "../../platform/base/natural_order.ts";
import type { JobKind } from "../../crds/job_kind.ts";
import { podSelector } from "../../crds/job_kind.ts";
import type { ShownEvent, ShownPod, WaitWords } from "../../crds/wire/details.ts";
import { JOB_KEYS } from "../../crds/job_names.ts";
import { JOBSET_KEYS } from "../../crds/jobset_names.ts";
import type { CoreEvent, Pod } from "../../platform/kube/kubernetes.ts";
import { V1_LABELS } from "../../crds/v1/names.ts";
import { waitOfPod, waitWords } from "../../crds/wait_of_pod.ts";
import { copiedText } from "../../owner/curves/bounded_text.ts";

/** Bounds of what is kept of one of them. */
const [CONTAINERS, TEXT, MESSAGE] = [64, 256, 1_024];

/** Returns the label selector of the pods of one job. */
export const podsOfJob = (kind: JobKind, name: string): string =>
  `${kind.podLabels.jobName}=${name},${podSelector(kind)}`;

function rankOf(labels: Readonly<Record<string, string>>): string | undefined {
  const group = labels[V1_LABELS.replicaType] ?? labels[JOBSET_KEYS.replicatedJobName];
  const place = labels[V1_LABELS.replicaIndex] ?? labels[JOB_KEYS.completionIndex];
  return group === undefined || place === undefined ? group ?? place : `${group}-${place}`;
}

function boundedWait({ why, ...wait }: WaitWords): WaitWords {
  const text = { for: copiedText(wait.for, MESSAGE) };
  return { ...wait, ...text, ...(why !== undefined && { why: copiedText(why, MESSAGE) }) };
}

/** Returns a pod as it is shown. */
export function shownPod({ metadata, spec, status }: Pod): ShownPod {
  const labels = metadata?.labels ?? {};
  const rank = rankOf(labels);
  const containers = status?.containerStatuses ?? [];
  const waiting = containers.map(({ state }) => state?.waiting?.reason).find((it) => it);
  const ended = containers.map(({ state }) => state?.terminated?.reason).find((it) => it);
  const exits = containers.map(({ state, lastState }) =>
    state?.terminated ?? lastState?.terminated
  );
  const { exitCode } = exits.find((it) => it?.exitCode) ?? exits.find((it) => it) ?? {};
  const waits = metadata?.deletionTimestamp === undefined ? waitWords({ spec, status }) : undefined;
  const unplaced = waits && spec?.nodeName === undefined
    ? waitOfPod({ status })?.reason
    : undefined;
  const reason = status?.reason ?? waiting ?? ended ?? unplaced;
  const named = [...spec?.containers ?? [], ...spec?.initContainers ?? []];
  return {
    uid: metadata?.uid ?? "",
    name: metadata?.name ?? "",
    ...(rank !== undefined && { rank }),
    phase: status?.phase ?? "Unknown",
    ...(reason !== undefined && { reason: copiedText(reason, TEXT) }),
    ...(waits !== undefined && { waits: boundedWait(waits) }),
    ...(spec?.nodeName !== undefined && { node: spec.nodeName }),
    ...(exitCode !== undefined && { exitCode }),
    restarts: containers.reduce((sum, { restartCount }) => sum + restartCount, 0),
    containers: named.slice(0, CONTAINERS).map(({ name }) => name),
    ...(status?.startTime !== undefined && { started: String(status.startTime) }),
    ...(metadata?.deletionTimestamp !== undefined && { deleting: true }),
  };
}

/** Sorts pods by rank, those without by name; of one rank those that are gone come last, the newest first. */
export function byRank(one: ShownPod, other: ShownPod): number {
  return naturalOrder(one.rank ?? "", other.rank ?? "") ||
    Number(one.gone ?? false) - Number(other.gone ?? false) ||
    (one.gone ? Date.parse(other.started ?? "") - Date.parse(one.started ?? "") || 0 : 0) ||
    naturalOrder(one.name, other.name);
}

const lastTimeOf = ({ lastTimestamp, series, eventTime, firstTimestamp, metadata }: CoreEvent) =>
  lastTimestamp ?? series?.lastObservedTime ?? eventTime ?? firstTimestamp ??
    metadata.creationTimestamp;

/** Returns an event as it is shown. */
export function shownEvent(event: CoreEvent): ShownEvent {
  const { involvedObject, type, reason, message, count, series } = event;
  const time = lastTimeOf(event);
  return {
    object: copiedText(`${involvedObject.kind ?? ""}/${involvedObject.name ?? ""}`, TEXT),
    type: copiedText(type ?? "Normal", TEXT),
    reason: copiedText(reason ?? "", TEXT),
    message: copiedText(message ?? "", MESSAGE),
    count: series?.count ?? count ?? 1,
    ...(time !== undefined && time !== null && { time: String(time) }),
  };
}
