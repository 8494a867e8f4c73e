/** RBAC policy rules: matching of requests, and coverage of one rule by others. */
import { asObjects, asTexts } from "../../../platform/base/json.ts";
import type { Attributes } from "./user.ts";

/** One rule of a role. */
export interface PolicyRule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
  readonly nonResourceURLs: readonly string[];
}

/** Reads the rules of a role; missing lists are empty. */
export function parseRules(rules: unknown): PolicyRule[] {
  return asObjects(rules).map((rule) => ({
    verbs: asTexts(rule.verbs),
    apiGroups: asTexts(rule.apiGroups),
    resources: asTexts(rule.resources),
    resourceNames: asTexts(rule.resourceNames),
    nonResourceURLs: asTexts(rule.nonResourceURLs),
  }));
}

/** Says if a list has the value, or a star for all. */
export function includes(list: readonly string[], value: string): boolean {
  return list.includes("*") || list.includes(value);
}

/** `pods/log` is allowed by itself, by `*`, and by a star before `/log`. */
function includesResource(list: readonly string[], resource: string): boolean {
  const slash = resource.indexOf("/");
  return includes(list, resource) ||
    (slash >= 0 && list.includes(`*${resource.slice(slash)}`));
}

/** A pattern such as `/healthz/*` matches everything below it. */
function includesPath(patterns: readonly string[], path: string): boolean {
  return patterns.some((pattern) =>
    pattern === "*" || pattern === path ||
    (pattern.endsWith("*") && path.startsWith(pattern.slice(0, -1)))
  );
}

/** Says if the rule allows the request. */
export function ruleAllows(rule: PolicyRule, attributes: Attributes): boolean {
  if (!includes(rule.verbs, attributes.verb)) return false;
  if ("path" in attributes) return includesPath(rule.nonResourceURLs, attributes.path);
  const { group, resource, subresource, name = "" } = attributes;
  const full = subresource ? `${resource}/${subresource}` : resource;
  return includes(rule.apiGroups, group) && includesResource(rule.resources, full) &&
    (rule.resourceNames.length === 0 || rule.resourceNames.includes(name));
}

/** Splits a rule into rules of one verb, one group, one resource and at most one name each. */
function simpleRules(rule: PolicyRule): PolicyRule[] {
  const names = rule.resourceNames.length === 0 ? [[]] : rule.resourceNames.map((name) => [name]);
  const empty = { apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: [] };
  return rule.verbs.flatMap((verb) => [
    ...rule.nonResourceURLs.map((url) => ({ ...empty, verbs: [verb], nonResourceURLs: [url] })),
    ...rule.apiGroups.flatMap((group) =>
      rule.resources.flatMap((resource) =>
        names.map((resourceNames) => ({
          ...empty,
          verbs: [verb],
          apiGroups: [group],
          resources: [resource],
          resourceNames,
        }))
      )
    ),
  ]);
}

function coversSimple(owner: PolicyRule, wanted: PolicyRule): boolean {
  const [verb = ""] = wanted.verbs;
  if (!includes(owner.verbs, verb)) return false;
  const [url] = wanted.nonResourceURLs;
  if (url !== undefined) return includesPath(owner.nonResourceURLs, url);
  const [group = ""] = wanted.apiGroups;
  const [resource = ""] = wanted.resources;
  const [name] = wanted.resourceNames;
  const named = owner.resourceNames.length === 0 ||
    (name !== undefined && owner.resourceNames.includes(name));
  return includes(owner.apiGroups, group) && includesResource(owner.resources, resource) && named;
}

/** Returns the parts of the wanted rules that none of the owner's rules allows. */
export function uncovered(
  owned: readonly PolicyRule[],
  wanted: readonly PolicyRule[],
): PolicyRule[] {
  return wanted.flatMap(simpleRules).filter((rule) =>
    !owned.some((owner) => coversSimple(owner, rule))
  );
}

/** Formats a rule as Kubernetes does: `{APIGroups:[""], Resources:["pods"], Verbs:["get"]}`. */
export function ruleText(rule: PolicyRule): string {
  const parts = [
    ["NonResourceURLs", rule.nonResourceURLs],
    ["APIGroups", rule.apiGroups],
    ["Resources", rule.resources],
    ["ResourceNames", rule.resourceNames],
    ["Verbs", rule.verbs],
  ] as const;
  const shown = parts.filter(([, values]) => values.length > 0)
    .map(([name, values]) => `${name}:${JSON.stringify(values)}`);
  return `{${shown.join(", ")}}`;
}
