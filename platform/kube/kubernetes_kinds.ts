/** Kubernetes' own kinds, each with its REST path; the API server has checked their fields. */
import { z } from "zod";
import { isObject } from "../base/json.ts";
import type * as k from "./kubernetes.ts";
import type { Kind } from "./resource.ts";

/** Returns a kind of Kubernetes; its objects are checked for metadata and no further. */
export function builtIn<T>(
  group: string,
  kind: string,
  plural: string,
  namespaced = true,
): Kind<T> {
  const schema = z.custom<T>(
    (value) => isObject(value) && isObject(value.metadata),
    { error: `must be a ${kind} with metadata` },
  );
  return { group, version: "v1", kind, plural, namespaced, parse: (value) => schema.parse(value) };
}

/** Every kind of Kubernetes in use, by name. */
export const KUBERNETES_KINDS = {
  job: builtIn<k.Job>("batch", "Job", "jobs"),
  pod: builtIn<k.Pod>("", "Pod", "pods"),
  service: builtIn<k.Service>("", "Service", "services"),
  endpointSlice: builtIn<k.AnyObject>("discovery.k8s.io", "EndpointSlice", "endpointslices"),
  configMap: builtIn<k.ConfigMap>("", "ConfigMap", "configmaps"),
  secret: builtIn<k.Secret>("", "Secret", "secrets"),
  serviceAccount: builtIn<k.ServiceAccount>("", "ServiceAccount", "serviceaccounts"),
  horizontalPodAutoscaler: {
    ...builtIn<k.AnyObject>("autoscaling", "HorizontalPodAutoscaler", "horizontalpodautoscalers"),
    version: "v2",
  },
  role: builtIn<k.AnyObject>("rbac.authorization.k8s.io", "Role", "roles"),
  roleBinding: builtIn<k.AnyObject>("rbac.authorization.k8s.io", "RoleBinding", "rolebindings"),
  event: builtIn<k.CoreEvent>("", "Event", "events"),
  persistentVolumeClaim: builtIn<k.PersistentVolumeClaim>(
    "",
    "PersistentVolumeClaim",
    "persistentvolumeclaims",
  ),
  namespace: builtIn<k.Namespace>("", "Namespace", "namespaces", false),
  node: builtIn<k.Node>("", "Node", "nodes", false),
  lease: builtIn<k.Lease>("coordination.k8s.io", "Lease", "leases"),
  priorityClass: builtIn<k.PriorityClass>(
    "scheduling.k8s.io",
    "PriorityClass",
    "priorityclasses",
    false,
  ),
  customResourceDefinition: builtIn<k.AnyObject>(
    "apiextensions.k8s.io",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    false,
  ),
  tokenReview: builtIn<k.TokenReview>(
    "authentication.k8s.io",
    "TokenReview",
    "tokenreviews",
    false,
  ),
  subjectAccessReview: builtIn<k.SubjectAccessReview>(
    "authorization.k8s.io",
    "SubjectAccessReview",
    "subjectaccessreviews",
    false,
  ),
  mutatingWebhookConfiguration: builtIn<k.MutatingWebhookConfiguration>(
    "admissionregistration.k8s.io",
    "MutatingWebhookConfiguration",
    "mutatingwebhookconfigurations",
    false,
  ),
  validatingWebhookConfiguration: builtIn<k.ValidatingWebhookConfiguration>(
    "admissionregistration.k8s.io",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    false,
  ),
} as const;
