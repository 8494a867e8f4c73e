/** Validation of webhook configurations: names, addresses, timeouts, match conditions. */
import { asObjects, asTexts, at, type JsonObject, textAt } from "../../../../platform/base/json.ts";
import {
  duplicate,
  invalid,
  required,
  type StatusCause,
  under,
  unsupported,
} from "../../../../crds/status_cause.ts";
import { celProblem } from "../cel_rules.ts";
import { checkSyntax } from "./field_checks.ts";
import { dnsSubdomain } from "../../../../crds/name_syntax.ts";

const OPERATIONS = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];

/** Rules of kinds MutatingWebhookConfiguration and ValidatingWebhookConfiguration. */
export function checkWebhooks(object: unknown): StatusCause[] {
  const names = new Set<string>();
  const causes: StatusCause[] = [];
  for (const [index, webhook] of asObjects(at(object, "webhooks")).entries()) {
    const path = under("webhooks", index);
    const name = textAt(webhook, "name") ?? "";
    if (names.has(name)) causes.push(duplicate(under(path, "name"), name));
    names.add(name);
    causes.push(...checkWebhook(webhook, name, path));
  }
  return causes;
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
    ...checkRules(webhook, under(path, "rules")),
    ...checkConditions(webhook, under(path, "matchConditions")),
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
  return asObjects(webhook.rules).flatMap((rule, index) => {
    const here = under(path, index);
    const missing = ["operations", "apiGroups", "apiVersions", "resources"]
      .filter((key) => asTexts(rule[key]).length === 0).map((key) => required(under(here, key)));
    const unknown = asTexts(rule.operations).filter((it) => !OPERATIONS.includes(it))
      .map((operation) => unsupported(under(here, "operations"), operation, OPERATIONS));
    return [...missing, ...unknown];
  });
}

function checkConditions(webhook: JsonObject, path: string): StatusCause[] {
  return asObjects(webhook.matchConditions).flatMap((condition, index) => {
    const expression = textAt(condition, "expression") ?? "";
    const problem = celProblem(expression);
    const field = `${path}[${index}].expression`;
    return problem === undefined
      ? []
      : [invalid(field, expression, `compilation failed: ${problem}`)];
  });
}
