/** Validation of domain-prefixed paths, with Kubernetes' words. Pure. */

const LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN = `${LABEL}(\\.${LABEL})*`;
const SUBDOMAIN_PATTERN = new RegExp(`^${SUBDOMAIN}$`);
const SUBDOMAIN_MAX = 253;
const HTTP_PATH = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+";
const HTTP_PATH_PATTERN = new RegExp(`^${HTTP_PATH}$`);

/** Returns everything that is wrong with a domain-prefixed path; empty if it is one. */
export function domainPathProblems(text: string): string[] {
  const slash = text.indexOf("/");
  const [domain, path] = [text.slice(0, Math.max(0, slash)), text.slice(slash + 1)];
  if (domain === "" || path === "") {
    return ['must be a domain-prefixed path (such as "acme.io/foo")'];
  }
  const problems: string[] = [];
  if (domain.length > SUBDOMAIN_MAX) problems.push(`must be no more than ${SUBDOMAIN_MAX} bytes`);
  if (!SUBDOMAIN_PATTERN.test(domain)) {
    problems.push(
      "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or " +
        "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex " +
        `used for validation is '${SUBDOMAIN}')`,
    );
  }
  if (!HTTP_PATH_PATTERN.test(path)) {
    problems.push(`Invalid path (regex used for validation is '${HTTP_PATH}')`);
  }
  return problems;
}
