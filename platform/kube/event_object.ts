/** core/v1 Events as values: names, fields, and which of them are counted as one. Pure. */
import type { CoreEvent } from "./kubernetes.ts";
import { cutText } from "../base/hostile_text.ts";
import { rfc3339 } from "../base/timestamps.ts";
import { apiVersionOf, type Kind, type KubeObject } from "./resource.ts";

/** The object that an event is about. */
export interface EventSubject {
  apiVersion: string;
  kind: string;
  namespace?: string;
  name: string;
  uid?: string;
}

/** Content of an event. The message is cut to 1024 characters. */
export interface EventText {
  type: "Normal" | "Warning";
  reason: string;
  message: string;
  /** Who says it, in place of the recorder's component. */
  component?: string;
}

/** Longest message that the API server takes, in characters. */
const LONGEST_MESSAGE = 1024;
/** Longest name of an object. */
const LONGEST_NAME = 253;
/** Namespace of events about objects without a namespace. */
const CLUSTER_SCOPE_NAMESPACE = "default";

/** Returns an object of that kind as the subject of events. */
export function subjectOf(
  kind: Pick<Kind<unknown>, "group" | "version" | "kind">,
  { metadata }: KubeObject,
): EventSubject {
  const { namespace, name = "", uid } = metadata ?? {};
  return { apiVersion: apiVersionOf(kind), kind: kind.kind, namespace, name, uid };
}

/** The key of all events about one object. */
export function subjectKey(about: EventSubject): string {
  const { apiVersion, kind, namespace = "", name, uid = "" } = about;
  return [apiVersion, kind, namespace, name, uid].join("\n");
}

/** Events with the same key within a while are one event with a count. */
export function sameEventKey(about: EventSubject, text: EventText): string {
  return [subjectKey(about), text.type, text.reason, text.message].join("\n");
}

/** The message, at most 1024 characters of it, whole code points. */
export const cutMessage = (message: string): string => cutText(message, LONGEST_MESSAGE);

/** An event of that subject that happened `count` times. `suffix` makes its name unique. */
export function eventObject(
  about: EventSubject,
  text: EventText,
  more: { component: string; suffix: string; count: number; firstMs: number; lastMs: number },
): CoreEvent {
  const { suffix, count, firstMs, lastMs } = more;
  const component = text.component ?? more.component;
  const stem = about.name.slice(0, LONGEST_NAME - suffix.length - 1).replace(/[.-]+$/, "");
  const namespace = about.namespace || CLUSTER_SCOPE_NAMESPACE;
  return {
    metadata: { name: `${stem}.${suffix}`, namespace },
    involvedObject: { ...about },
    type: text.type,
    reason: text.reason,
    message: cutMessage(text.message),
    count,
    firstTimestamp: rfc3339(firstMs),
    lastTimestamp: rfc3339(lastMs),
    source: { component },
    reportingComponent: component,
    reportingInstance: "",
  };
}
