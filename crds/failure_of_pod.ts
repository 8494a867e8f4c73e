/** Failure of a pod in words: which of its containers ended how, or why it was ended as a whole. Pure. */
import type { Pod } from "../platform/kube/kubernetes.ts";
import { POD_CONDITIONS } from "./pod_names.ts";

/** The first failure of a pod. */
export interface PodFailure {
  /** Its time, RFC 3339; undefined if the pod has none. */
  readonly at: string | undefined;
  /** Such as `pod "a" on node "n" failed: container "node" ended with exit code 137 (OOMKilled)`. */
  readonly text: string;
}

/** Longest part of a message that is taken over, in characters. */
const MESSAGE_MAX = 256;

const oneLine = (text: string) => text.replaceAll(/\s+/g, " ").trim();

/** A message after a colon; nothing without one. */
function tail(message: string | undefined): string {
  const text = oneLine(message ?? "");
  if (text === "") return "";
  return `: ${text.length > MESSAGE_MAX ? `${text.slice(0, MESSAGE_MAX)}…` : text}`;
}

/** The end of a container's last words, which is where a program says why it ends. */
function lastWords(message: string | undefined): string {
  const text = oneLine(message ?? "");
  return text.length > MESSAGE_MAX ? `: …${text.slice(-MESSAGE_MAX)}` : tail(text);
}

/** Ends of containers with another exit code than 0, the earliest first; sidecars are ended last, by force. */
function failedContainers({ spec, status }: Pod) {
  const sidecars = new Set(
    spec?.initContainers?.filter(({ restartPolicy }) => restartPolicy === "Always")
      .map(({ name }) => name),
  );
  const statuses = [...status?.initContainerStatuses ?? [], ...status?.containerStatuses ?? []];
  return statuses.filter(({ name }) => !sidecars.has(name)).flatMap(({ name, state, lastState }) =>
    [lastState?.terminated, state?.terminated].flatMap((ended) =>
      ended && ended.exitCode !== 0 ? [{ ...ended, name, at: ended.finishedAt }] : []
    )
  ).sort((a, b) => (a.at ?? "~") < (b.at ?? "~") ? -1 : 1);
}

/** What has failed, without the pod's name. */
function causeOf(pod: Pod): PodFailure | undefined {
  const { metadata, status } = pod;
  const disruption = status?.conditions?.find(({ type, status }) =>
    type === POD_CONDITIONS.disruptionTarget && status === "True"
  );
  const hasFailed = status?.phase === "Failed";
  const [first] = failedContainers(pod);
  const at = disruption?.lastTransitionTime ?? first?.at;
  if (hasFailed && status.reason) {
    return { at, text: `failed (${status.reason})${tail(status.message)}` };
  }
  const isEnding = metadata?.deletionTimestamp !== undefined;
  if (disruption && (hasFailed || isEnding)) {
    const reason = disruption.reason || POD_CONDITIONS.disruptionTarget;
    return { at, text: `was ended (${reason})${tail(disruption.message)}` };
  }
  // The containers of a pod that is deleted are ended by signals, which is no failure of theirs.
  if (isEnding) return undefined;
  if (first) {
    const { name, exitCode, reason, message } = first;
    const words = `exit code ${exitCode}${reason ? ` (${reason})` : ""}${lastWords(message)}`;
    return { at: first.at, text: `failed: container "${name}" ended with ${words}` };
  }
  return hasFailed ? { at, text: `failed${tail(status.message)}` } : undefined;
}

/** Returns the pod's failure; undefined if it has none. A container that was restarted counts. */
export function podFailure(pod: Pod): PodFailure | undefined {
  if (pod.status?.phase === "Succeeded") return undefined;
  const cause = causeOf(pod);
  const node = pod.spec?.nodeName;
  const where = node ? ` on node "${node}"` : "";
  return cause && { at: cause.at, text: `pod "${pod.metadata?.name}"${where} ${cause.text}` };
}
