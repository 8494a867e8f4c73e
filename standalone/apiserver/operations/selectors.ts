/** Label and field selectors of lists and watches. */
import { at } from "../../../platform/base/json.ts";
import { type LabelRequirement, meetsSelector } from "../../../crds/label_selector.ts";
import type { ApiObject } from "../objects/api_object.ts";
import { badRequest } from "../objects/status_error.ts";
import type { ResourceKey } from "../storage/store.ts";

/** Says if an object is selected. */
export type Selects = (object: ApiObject) => boolean;

const SET = /^\s*([^\s!=,()]+)\s+(in|notin)\s*\(([^)]*)\)\s*$/;
const EQUALITY = /^\s*([^\s!=,()]+)\s*(==|=|!=)\s*([^\s!=,()]*)\s*$/;
const EXISTS = /^\s*(!?)\s*([^\s!=,()]+)\s*$/;

/** Splits at commas outside parentheses. */
function clauses(selector: string): string[] {
  return selector.split(/,(?![^(]*\))/).filter((clause) => clause.trim() !== "");
}

function requirementOf(clause: string): LabelRequirement {
  const set = SET.exec(clause);
  if (set) {
    const [, key = "", operator, list = ""] = set;
    const values = list.split(",").map((value) => value.trim());
    return { key, operator: operator === "in" ? "In" : "NotIn", values };
  }
  const equality = EQUALITY.exec(clause);
  if (equality) {
    const [, key = "", operator, value = ""] = equality;
    return { key, operator: operator === "!=" ? "NotIn" : "In", values: [value] };
  }
  const exists = EXISTS.exec(clause);
  if (exists) {
    const [, not, key = ""] = exists;
    return { key, operator: not === "!" ? "DoesNotExist" : "Exists" };
  }
  throw badRequest(
    `unable to parse requirement: "${clause.trim()}" is not a label selector; write key=value, ` +
      "key!=value, key in (a,b), key notin (a,b), key or !key",
  );
}

/** Parses a label selector such as `app=web,tier in (a,b),!old`. Throws 400. */
function parseLabelSelector(selector: string): Selects {
  const matchExpressions = clauses(selector).map(requirementOf);
  return ({ metadata }) => meetsSelector(metadata.labels ?? {}, { matchExpressions });
}

/** Fields that field selectors may use, besides `metadata.name` and `metadata.namespace`. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  "/pods": [
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "status.phase",
    "status.podIP",
    "status.nominatedNodeName",
  ],
  "/events": [
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
  ],
  "/secrets": ["type"],
  "/namespaces": ["status.phase"],
  "/nodes": ["spec.unschedulable"],
  "/services": ["spec.clusterIP", "spec.type"],
  "batch/jobs": ["status.successful"],
};

/** Fields whose path in the object differs from their name. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  "/events source": "source.component",
  "batch/jobs status.successful": "status.succeeded",
};

/** Numeric fields: a missing one counts as 0. */
const COUNTED = new Set(["status.succeeded"]);

/** Returns the text of a field; empty if it is missing. */
function fieldText(object: ApiObject, path: string): string {
  const value = at(object, ...path.split("."));
  if (value === undefined || value === null) return COUNTED.has(path) ? "0" : "";
  return `${value}`;
}

/** Parses a field selector such as `metadata.name=x,status.phase!=Running`. Throws 400. */
function parseFieldSelector(
  selector: string,
  key: ResourceKey & { readonly selectableFields?: readonly string[] },
): Selects {
  const table = `${key.group}/${key.resource}`;
  const known = [
    "metadata.name",
    "metadata.namespace",
    ...FIELDS[table] ?? [],
    ...key.selectableFields ?? [],
  ];
  const tests = clauses(selector).map((clause): Selects => {
    const match = /^\s*([^=!]+?)\s*(==|=|!=)\s*(.*?)\s*$/.exec(clause);
    if (!match) throw badRequest(`invalid field selector "${clause}"; write field=value`);
    const [, field = "", operator, escaped = ""] = match;
    if (!known.includes(field)) {
      throw badRequest(`field label not supported: ${field}; supported are ${known.join(", ")}`);
    }
    const value = escaped.replace(/\\([\\,=])/g, "$1");
    const path = ELSEWHERE[`${table} ${field}`] ?? field;
    return (object) => (fieldText(object, path) === value) === (operator !== "!=");
  });
  return (object) => tests.every((test) => test(object));
}

/** Parses both selectors of a query; undefined if they select everything. Throws 400. */
export function selectorOf(
  query: URLSearchParams,
  key: Parameters<typeof parseFieldSelector>[1],
): Selects | undefined {
  const labels = query.get("labelSelector") ?? "";
  const fields = query.get("fieldSelector") ?? "";
  if (labels === "" && fields === "") return undefined;
  const [byLabel, byField] = [parseLabelSelector(labels), parseFieldSelector(fields, key)];
  return (object) => byLabel(object) && byField(object);
}
