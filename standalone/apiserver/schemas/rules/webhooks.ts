/** Validation of webhook configurations: names, addresses, timeouts, match conditions. */
import { asTexts, at, type JsonObject, textAt } from "../../../../platform/base/json.ts";
import {
  duplicate,
  invalid,
  required,
  type StatusCause,
  under,
  unsupported,
} from "../../../../crds/status_cause.ts";
import { celProblem } from "../cel_rules.ts";
import { checkItems, checkSyntax } from "./field_checks.ts";
import { dnsSubdomain } from "../../../../crds/name_syntax.ts";

const OPERATIONS = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];

/** Rules of kinds MutatingWebhookConfiguration and ValidatingWebhookConfiguration. */
export function checkWebhooks(object: unknown): StatusCause[] {
  const names = new Set<string>();
  return checkItems(object, "", "webhooks", (webhook, path) => {
    const name = textAt(webhook, "name") ?? "";
    const repeated = names.has(name) ? [duplicate(under(path, "name"), name)] : [];
    names.add(name);
    return [...repeated, ...checkWebhook(webhook, name, path)];
  });
}

function checkWebhook(webhook: JsonObject, name: string, path: string): StatusCause[] {
  const causes = checkSyntax(under(path, "name"), name, dnsSubdomain);
  if (name.split(".").length < 3) {
    const detail = "should be a domain with at least three segments separated by dots";
    causes.push(invalid(under(path, "name"), name, detail));
  }
  const seconds = webhook.timeoutSeconds;
  if (typeof seconds === "number" && (seconds < 1 || seconds > 30)) {
    const detail = "the timeout value must be between 1 and 30 seconds";
    causes.push(invalid(under(path, "timeoutSeconds"), seconds, detail));
  }
  return [
    ...causes,
    ...checkClient(webhook, under(path, "clientConfig")),
    ...checkRules(webhook, path),
    ...checkConditions(webhook, path),
  ];
}

function checkClient(webhook: JsonObject, path: string): StatusCause[] {
  const url = textAt(webhook, "clientConfig", "url");
  const service = at(webhook, "clientConfig", "service");
  if ((url === undefined) === (service === undefined)) {
    return [required(path, "exactly one of url or service is required")];
  }
  if (url === undefined) return [];
  const here = under(path, "url");
  if (!URL.canParse(url)) return [invalid(here, url, "url must be a valid URL")];
  const { protocol, username, hash, search } = new URL(url);
  if (protocol !== "https:") {
    return [invalid(here, protocol.slice(0, -1), "'https' is the only allowed URL scheme")];
  }
  if (username !== "") return [invalid(here, url, "user information is not permitted in the URL")];
  return hash + search === ""
    ? []
    : [invalid(here, url, "fragments and query parameters are not permitted in the URL")];
}

function checkRules(webhook: JsonObject, path: string): StatusCause[] {
  return checkItems(webhook, path, "rules", (rule, here) => {
    const missing = ["operations", "apiGroups", "apiVersions", "resources"]
      .filter((key) => asTexts(rule[key]).length === 0).map((key) => required(under(here, key)));
    const unknown = asTexts(rule.operations).filter((it) => !OPERATIONS.includes(it))
      .map((operation) => unsupported(under(here, "operations"), operation, OPERATIONS));
    return [...missing, ...unknown];
  });
}

function checkConditions(webhook: JsonObject, path: string): StatusCause[] {
  return checkItems(webhook, path, "matchConditions", (condition, here) => {
    const expression = textAt(condition, "expression") ?? "";
    const problem = celProblem(expression);
    if (problem === undefined) return [];
    return [invalid(under(here, "expression"), expression, `compilation failed: ${problem}`)];
  });
}
