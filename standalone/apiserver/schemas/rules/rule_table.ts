/** Table of validation rules of the built-in kinds beyond their OpenAPI schemas. */
import { at } from "../../../../platform/base/json.ts";
import type { StatusCause } from "../../../../crds/status_cause.ts";
import { checkConfigMap, checkSecret } from "./config.ts";
import { checkJob } from "./batch_job.ts";
import { checkMetadata } from "./metadata.ts";
import {
  dnsLabel,
  dnsLabel1035,
  dnsSubdomain,
  pathSegment,
  type Syntax,
} from "../../../../crds/name_syntax.ts";
import { checkEvent, checkLease, checkWorkload } from "./other_kinds.ts";
import { checkPod } from "./pod.ts";
import { checkBinding, checkRole } from "./rbac.ts";
import { checkService } from "./service.ts";
import { checkWebhooks } from "./webhooks.ts";

/** Returns the problems of an object; `old` is the stored one on update. */
export type KindRules = (object: unknown, old?: unknown) => StatusCause[];

const RBAC = "rbac.authorization.k8s.io";

const WEBHOOKS = "admissionregistration.k8s.io";

/** Rules beyond those of metadata. */
const RULES: Readonly<Record<string, KindRules>> = {
  "/ConfigMap": checkConfigMap,
  "/Secret": checkSecret,
  "/Pod": checkPod,
  "/Service": checkService,
  "/Event": checkEvent,
  "coordination.k8s.io/Lease": checkLease,
  "apps/DaemonSet": checkWorkload,
  "apps/Deployment": checkWorkload,
  "apps/ReplicaSet": checkWorkload,
  "apps/StatefulSet": checkWorkload,
  "batch/Job": checkJob,
  [`${WEBHOOKS}/MutatingWebhookConfiguration`]: checkWebhooks,
  [`${WEBHOOKS}/ValidatingWebhookConfiguration`]: checkWebhooks,
  [`${RBAC}/Role`]: checkRole(true),
  [`${RBAC}/ClusterRole`]: checkRole(false),
  [`${RBAC}/RoleBinding`]: checkBinding(["Role", "ClusterRole"]),
  [`${RBAC}/ClusterRoleBinding`]: checkBinding(["ClusterRole"]),
};

/** Kinds that are never stored and have no name. */
const UNNAMED = /Review$|^TokenRequest$|Options$|^Binding$|^Eviction$|^Scale$|List$/;

/** Syntax of the names of a kind's objects. */
function nameSyntax(group: string, kind: string): Syntax {
  if (group === RBAC) return pathSegment;
  if (group !== "") return dnsSubdomain;
  return kind === "Namespace" ? dnsLabel : kind === "Service" ? dnsLabel1035 : dnsSubdomain;
}

/** Returns the rules of a kind; most kinds only have those of metadata. */
export function kindRules(group: string, kind: string): KindRules {
  if (UNNAMED.test(kind)) return () => [];
  const [check, name] = [RULES[`${group}/${kind}`], nameSyntax(group, kind)];
  return (object, old) => [
    ...checkMetadata(at(object, "metadata"), name),
    ...check?.(object, old) ?? [],
  ];
}
