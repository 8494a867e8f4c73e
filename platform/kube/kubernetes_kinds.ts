/** Kubernetes' own kinds, each with its REST path; the API server has checked their fields. */
import { z } from "zod";
import { isObject } from "../base/json.ts";
import type * as k from "./kubernetes.ts";
import { guessPlural, type Kind } from "./resource.ts";

/** Returns a kind of Kubernetes; its objects are checked for metadata and no further. */
export function builtIn<T>(group: string, kind: string, namespaced = true): Kind<T> {
  const schema = z.custom<T>(
    (value) => isObject(value) && isObject(value.metadata),
    { error: `must be a ${kind} with metadata` },
  );
  const plural = guessPlural(kind);
  return { group, version: "v1", kind, plural, namespaced, parse: (value) => schema.parse(value) };
}

/** Every kind of Kubernetes in use, by name. */
export const KUBERNETES_KINDS = {
  job: builtIn<k.Job>("batch", "Job"),
  pod: builtIn<k.Pod>("", "Pod"),
  service: builtIn<k.Service>("", "Service"),
  endpointSlice: builtIn<k.AnyObject>("discovery.k8s.io", "EndpointSlice"),
  configMap: builtIn<k.ConfigMap>("", "ConfigMap"),
  secret: builtIn<k.Secret>("", "Secret"),
  serviceAccount: builtIn<k.ServiceAccount>("", "ServiceAccount"),
  horizontalPodAutoscaler: {
    ...builtIn<k.AnyObject>("autoscaling", "HorizontalPodAutoscaler"),
    version: "v2",
  },
  role: builtIn<k.AnyObject>("rbac.authorization.k8s.io", "Role"),
  roleBinding: builtIn<k.AnyObject>("rbac.authorization.k8s.io", "RoleBinding"),
  event: builtIn<k.CoreEvent>("", "Event"),
  persistentVolumeClaim: builtIn<k.PersistentVolumeClaim>("", "PersistentVolumeClaim"),
  namespace: builtIn<k.Namespace>("", "Namespace", false),
  node: builtIn<k.Node>("", "Node", false),
  lease: builtIn<k.Lease>("coordination.k8s.io", "Lease"),
  priorityClass: builtIn<k.PriorityClass>("scheduling.k8s.io", "PriorityClass", false),
  customResourceDefinition: builtIn<k.AnyObject>(
    "apiextensions.k8s.io",
    "CustomResourceDefinition",
    false,
  ),
  tokenReview: builtIn<k.TokenReview>("authentication.k8s.io", "TokenReview", false),
  subjectAccessReview: builtIn<k.SubjectAccessReview>(
    "authorization.k8s.io",
    "SubjectAccessReview",
    false,
  ),
  mutatingWebhookConfiguration: builtIn<k.MutatingWebhookConfiguration>(
    "admissionregistration.k8s.io",
    "MutatingWebhookConfiguration",
    false,
  ),
  validatingWebhookConfiguration: builtIn<k.ValidatingWebhookConfiguration>(
    "admissionregistration.k8s.io",
    "ValidatingWebhookConfiguration",
    false,
  ),
} as const;
