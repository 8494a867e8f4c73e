/** Minimal valid objects for conformance cases. */
import type { Answer } from "./api.ts";

type Fields = Record<string, unknown>;

/** A ConfigMap with `data.a` = "1". */
export function configMap(name: string, metadata: Fields = {}, more: Fields = {}) {
  const data = { a: "1" };
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, ...metadata }, data, ...more };
}

/** A pod of one container. */
export function pod(name: string, spec: Fields = {}, metadata: Fields = {}) {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, ...metadata },
    spec: { containers: [{ name: "c", image: "example.com/i:1" }], ...spec },
  };
}

/** Template of the pods of jobs and deployments. */
export function podTemplate(spec: Fields = {}, labels?: Fields): Answer {
  return {
    ...(labels && { metadata: { labels } }),
    spec: { containers: [{ name: "c", image: "example.com/i:1" }], ...spec },
  };
}

/** A suspended Job: no controller makes pods of it. */
export function job(name: string, spec: Fields = {}, metadata: Fields = {}) {
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name, ...metadata },
    spec: { suspend: true, template: podTemplate({ restartPolicy: "Never" }), ...spec },
  };
}

/** A Deployment without replicas. */
export function deployment(name: string, spec: Fields = {}) {
  const labels = { app: name };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: {
      replicas: 0,
      selector: { matchLabels: labels },
      template: podTemplate({}, labels),
      ...spec,
    },
  };
}

/** A headless Service. */
export function service(name: string, spec: Fields = {}) {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name },
    spec: { clusterIP: "None", ...spec },
  };
}

/** Any object of a core or other kind. */
export function object(apiVersion: string, kind: string, name: string, more: Fields = {}) {
  return { apiVersion, kind, metadata: { name }, ...more };
}

/** An owner reference to an object that a server has answered. */
export function ownedBy(owner: Answer, more: Fields = {}) {
  const { apiVersion, kind, metadata: { name, uid } } = owner;
  return { ownerReferences: [{ apiVersion, kind, name, uid, ...more }] };
}
