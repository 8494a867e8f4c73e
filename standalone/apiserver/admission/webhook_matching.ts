/** Matching of requests with webhooks: rules, selectors and conditions. */
import { isCelError } from "@bufbuild/cel";
import { z } from "zod";
import { textMapAt } from "../../../platform/base/json.ts";
import { meetsSelector } from "../../../crds/label_selector.ts";
import { compileCel, toCel } from "../schemas/cel_rules.ts";
import { includes } from "../access/policy_rules.ts";
import { KEYS, sameKey } from "../storage/resource_keys.ts";
import type { ObjectReader } from "../storage/store.ts";
import type { AdmissionRequest } from "./admission_request.ts";

const texts = z.array(z.string()).default([]);
const ruleSchema = z.object({
  operations: texts,
  apiGroups: texts,
  apiVersions: texts,
  resources: texts,
  scope: z.enum(["*", "Cluster", "Namespaced"]).default("*"),
});

const selectorSchema = z.object({
  matchLabels: z.record(z.string(), z.string()).optional(),
  matchExpressions: z.array(z.object({
    key: z.string(),
    operator: z.string(),
    values: z.array(z.string()).optional(),
  })).optional(),
}).default({});

/** Schema of a webhook of a configuration, with the defaults of Kubernetes. */
export const webhookSchema = z.object({
  name: z.string(),
  clientConfig: z.object({
    url: z.string().optional(),
    service: z.object({ namespace: z.string(), name: z.string() }).optional(),
    caBundle: z.string().optional(),
  }),
  rules: z.array(ruleSchema).default([]),
  failurePolicy: z.enum(["Fail", "Ignore"]).default("Fail"),
  timeoutSeconds: z.number().min(1).max(30).default(10),
  reinvocationPolicy: z.enum(["Never", "IfNeeded"]).default("Never"),
  sideEffects: z.string().default("Unknown"),
  namespaceSelector: selectorSchema,
  objectSelector: selectorSchema,
  matchConditions: z.array(z.object({ name: z.string(), expression: z.string() })).default([]),
});
/** One webhook of a configuration. */
export type Webhook = z.infer<typeof webhookSchema>;

/** Whether a webhook is called, or the problem of a condition that could not be evaluated. */
export type Match = boolean | string;

/** Matches `pods`, `pods/status`, `pods/*`, `*`, a star with a subresource, or a star for both. */
function resourceMatches(list: readonly string[], request: AdmissionRequest): boolean {
  const { resource } = request.resource;
  const { subresource } = request;
  if (!subresource) return list.some((it) => it === "*" || it === "*/*" || it === resource);
  return list.some((it) =>
    it === "*/*" || it === `${resource}/${subresource}` || it === `${resource}/*` ||
    it === `*/${subresource}`
  );
}

function scopeMatches(scope: string, request: AdmissionRequest): boolean {
  if (scope === "*") return true;
  // Namespaces are cluster-scoped, although their requests carry a namespace.
  const cluster = !request.namespace || request.resource.resource === "namespaces";
  return scope === (cluster ? "Cluster" : "Namespaced");
}

function rulesMatch(webhook: Webhook, request: AdmissionRequest): boolean {
  return webhook.rules.some((rule) =>
    includes(rule.operations, request.operation) &&
    includes(rule.apiGroups, request.resource.group) &&
    includes(rule.apiVersions, request.resource.version) &&
    resourceMatches(rule.resources, request) &&
    scopeMatches(rule.scope, request)
  );
}

function namespaceMatches(
  webhook: Webhook,
  request: AdmissionRequest,
  store: ObjectReader,
): boolean {
  if (sameKey(request.resource, KEYS.namespaces)) {
    const itself = request.object ?? request.oldObject;
    return meetsSelector(textMapAt(itself, "metadata", "labels"), webhook.namespaceSelector);
  }
  if (!request.namespace) return true;
  const namespace = store.get(KEYS.namespaces, undefined, request.namespace);
  return meetsSelector(namespace?.metadata.labels ?? {}, webhook.namespaceSelector);
}

function objectMatches(webhook: Webhook, request: AdmissionRequest): boolean {
  return [request.object, request.oldObject].some((object) =>
    object !== undefined && object !== null &&
    meetsSelector(textMapAt(object, "metadata", "labels"), webhook.objectSelector)
  );
}

function conditionsMatch(webhook: Webhook, request: AdmissionRequest): Match {
  const { name, namespace, operation, kind, resource, user, dryRun } = request;
  const variables = {
    object: toCel(request.object ?? null),
    oldObject: toCel(request.oldObject ?? null),
    request: toCel({
      name: name ?? "",
      namespace: namespace ?? "",
      operation,
      kind,
      resource,
      subResource: request.subresource ?? "",
      dryRun,
      userInfo: { username: user.name, groups: user.groups, uid: user.uid ?? "" },
    }),
  };
  let failure: string | undefined;
  for (const { name, expression } of webhook.matchConditions) {
    const result = evaluate(expression, variables);
    if (result === false) return false;
    if (result !== true) failure ??= `match condition "${name}": ${result}`;
  }
  return failure ?? true;
}

function evaluate(
  expression: string,
  variables: Parameters<ReturnType<typeof compileCel>>[0],
): boolean | string {
  try {
    const result = compileCel(expression)(variables);
    if (isCelError(result)) return result.message;
    return typeof result === "boolean" ? result : "is not a boolean";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Says if the request goes to the webhook. */
export function matchWebhook(
  webhook: Webhook,
  request: AdmissionRequest,
  store: ObjectReader,
): Match {
  return rulesMatch(webhook, request) && namespaceMatches(webhook, request, store) &&
    objectMatches(webhook, request) && conditionsMatch(webhook, request);
}
