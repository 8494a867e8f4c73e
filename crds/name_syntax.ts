/** Syntax of names, label keys and label values (apimachinery, `util/validation`). */

import { DNS_LABEL_MAX } from "./names.ts";

const LABEL_1123 = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
/** Pattern of a DNS subdomain (RFC 1123). */
export const DNS_SUBDOMAIN = `${LABEL_1123}(\\.${LABEL_1123})*`;
/** Bound of a DNS subdomain, in characters. */
export const DNS_SUBDOMAIN_MAX = 253;
/** Kubernetes' explanation of {@link DNS_SUBDOMAIN}. */
export const DNS_SUBDOMAIN_EXPLANATION =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', " +
  "and must start and end with an alphanumeric character (e.g. 'example.com', regex used for " +
  `validation is '${DNS_SUBDOMAIN}')`;
/** Pattern of a DNS label by RFC 1035, which begins with a letter. */
export const DNS_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?";
const QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const LABEL_VALUE = `(${QUALIFIED})?`;

/** A syntax: returns the problems of a text, none if it is valid. */
export type Syntax = (text: string) => string[];

function syntax(pattern: string, most: number, explanation: string): Syntax {
  const whole = new RegExp(`^(?:${pattern})$`);
  return (text) => {
    const problems: string[] = [];
    if (text.length > most) problems.push(`must be no more than ${most} characters`);
    // A text far above the limit is not matched against the pattern.
    else if (!whole.test(text)) problems.push(explanation);
    return problems;
  };
}

/** DNS subdomain, the syntax of most names. */
export const dnsSubdomain = syntax(
  DNS_SUBDOMAIN,
  DNS_SUBDOMAIN_MAX,
  DNS_SUBDOMAIN_EXPLANATION,
);
/** DNS label of RFC 1123: containers, volumes, namespaces. */
export const dnsLabel = syntax(
  LABEL_1123,
  DNS_LABEL_MAX,
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must " +
    "start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for " +
    `validation is '${LABEL_1123}')`,
);
/** DNS label of RFC 1035: Services, and Jobs of a JobSet. */
export const dnsLabel1035 = syntax(
  DNS_LABEL_1035,
  DNS_LABEL_MAX,
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an " +
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', " +
    `regex used for validation is '${DNS_LABEL_1035}')`,
);
/** Value of a label. */
export const labelValue = syntax(
  LABEL_VALUE,
  DNS_LABEL_MAX,
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', " +
    "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or " +
    `'12345', regex used for validation is '(${QUALIFIED})?')`,
);
const namePart = syntax(
  QUALIFIED,
  DNS_LABEL_MAX,
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with " +
    "an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for " +
    `validation is '${QUALIFIED}')`,
);
/** Key of a ConfigMap or Secret. */
export const dataKey = syntax(
  "[-._a-zA-Z0-9]+",
  253,
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  " +
    "or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
);
/** Name of an environment variable: printable ASCII without `=`. */
export const envName = syntax(
  "[ -<>-~]+",
  32_768,
  "a valid environment variable name must consist only of printable ASCII characters other than '='",
);
/** Name of a port. */
export const portName: Syntax = (text) => {
  if (text.length > 15) return ["must be no more than 15 characters"];
  if (!/^[-a-z0-9]+$/.test(text)) {
    return [
      "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
    ];
  }
  if (!/[a-z]/.test(text)) return ["must contain at least one letter (a-z)"];
  if (text.includes("--")) return ["must not contain consecutive hyphens"];
  return /^-|-$/.test(text) ? ["must not begin or end with a hyphen"] : [];
};

/** Key of a label or annotation: an optional DNS subdomain and `/` before the name. */
export const qualifiedName: Syntax = (text) => {
  const parts = text.split("/");
  if (parts.length > 2) {
    return [
      "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start " +
      "and end with an alphanumeric character, with an optional DNS subdomain prefix and '/'",
    ];
  }
  const name = parts.at(-1) ?? "";
  const prefix = parts.length === 2 ? parts[0] : undefined;
  const problems: string[] = [];
  if (prefix === "") problems.push("prefix part must be non-empty");
  else if (prefix !== undefined) {
    problems.push(...dnsSubdomain(prefix).map((problem) => `prefix part ${problem}`));
  }
  if (name === "") problems.push("name part must be non-empty");
  else problems.push(...namePart(name));
  return problems;
};

/** Names of RBAC objects: any path segment. */
export const pathSegment: Syntax = (text) => {
  if (text === "." || text === "..") return [`may not be '${text}'`];
  return ["/", "%"].filter((sign) => text.includes(sign)).map((sign) =>
    `may not contain '${sign}'`
  );
};

/** Pattern of a condition's reason (apimachinery, `metav1.Condition`). */
export const CONDITION_REASON = /^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/;

/** Pattern of a condition's type (apimachinery, `metav1.Condition`). */
export const CONDITION_TYPE = `^(${DNS_SUBDOMAIN}/)?(${QUALIFIED})$`;
