/** Validation of domain-prefixed paths, with Kubernetes' words. Pure. */

import {
  DNS_SUBDOMAIN,
  DNS_SUBDOMAIN_EXPLANATION,
  DNS_SUBDOMAIN_MAX,
} from "../../crds/name_syntax.ts";

const SUBDOMAIN_PATTERN = new RegExp(`^${DNS_SUBDOMAIN}$`);
const HTTP_PATH = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+";
const HTTP_PATH_PATTERN = new RegExp(`^${HTTP_PATH}$`);

/** A part of a path, or all of it, and what is wrong with it. */
export interface DomainPathProblem {
  readonly value: string;
  readonly message: string;
}

/** Returns everything that is wrong with a domain-prefixed path; empty if it is one. */
export function domainPathProblems(text: string): DomainPathProblem[] {
  const slash = text.indexOf("/");
  const [domain, path] = [text.slice(0, Math.max(0, slash)), text.slice(slash + 1)];
  if (domain === "" || path === "") {
    return [{ value: text, message: 'must be a domain-prefixed path (such as "acme.io/foo")' }];
  }
  const problems: DomainPathProblem[] = [];
  if (domain.length > DNS_SUBDOMAIN_MAX) {
    problems.push({ value: domain, message: `must be no more than ${DNS_SUBDOMAIN_MAX} bytes` });
  }
  if (!SUBDOMAIN_PATTERN.test(domain)) {
    problems.push({ value: domain, message: DNS_SUBDOMAIN_EXPLANATION });
  }
  if (!HTTP_PATH_PATTERN.test(path)) {
    const message = `Invalid path (regex used for validation is '${HTTP_PATH}')`;
    problems.push({ value: path, message });
  }
  return problems;
}
