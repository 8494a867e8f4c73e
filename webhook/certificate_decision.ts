/**
 * Next step of the rotation of certificates: a pure function of what is stored and the time.
 *
 * A CA is replaced in three steps, so that whoever reads the bundle late is never left without trust:
 * the next CA is published beside the old one; once it had time to be everywhere it signs the serving
 * certificate; once that certificate is everywhere the old CA is dropped.
 */

import type { CertificateFacts } from "../platform/base/certificates.ts";

const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;

/** Life of one certificate, in milliseconds since the epoch. */
export type ObservedCertificate = Omit<CertificateFacts, "hosts">;

/** The stored certificates; a part that is missing or invalid (wrong key, not PEM) is absent. */
export interface ObservedCertificates {
  /** The CA that signs. */
  readonly authority?: ObservedCertificate;
  /** Older CAs that are still in the bundle. */
  readonly older: readonly ObservedCertificate[];
  /** The CA that will sign. */
  readonly next?: ObservedCertificate;
  readonly serving?: ObservedCertificate & {
    readonly hosts: readonly string[];
    /** Whether the CA that signs now signed it. */
    readonly signedByAuthority: boolean;
  };
}

/** A year before the CA ends, four months before a serving certificate ends, an hour to spread. */
export const CERTIFICATE_POLICY = {
  /** The next CA appears this long before the CA ends. */
  authorityRenewalMs: 365 * DAY_MS,
  /** A serving certificate is replaced this long before it ends. */
  servingRenewalMs: 120 * DAY_MS,
  /** Time until every reader of the bundle has a change: mounted ConfigMaps, caches, replicas. */
  propagationMs: HOUR_MS,
};
/** Lead times of the steps, in milliseconds. */
export type CertificatePolicy = Readonly<typeof CERTIFICATE_POLICY>;

/** One step; after it the question is asked again. */
export type CertificateAction =
  /** Nothing to do. */
  | "keep"
  /** No CA that works: make a CA and a serving certificate. */
  | "create"
  /** Make the next CA and publish it. */
  | "publish-next"
  /** The next CA becomes the CA and signs a serving certificate; the old CA stays in the bundle. */
  | "promote-next"
  /** Issue a serving certificate by the CA. */
  | "reissue"
  /** Drop older CAs from the bundle. */
  | "forget-older";

/** The step, why, and when to ask again at the latest (milliseconds since the epoch). */
export interface CertificateDecision {
  readonly action: CertificateAction;
  readonly reason: string;
  readonly askAgainAt: number;
}

function isValid(certificate: ObservedCertificate, now: number): boolean {
  return certificate.notBefore <= now && now < certificate.notAfter;
}

/** Why the serving certificate must be replaced; undefined if it need not be. */
function servingFault(
  serving: ObservedCertificates["serving"],
  hosts: readonly string[],
  now: number,
  policy: CertificatePolicy,
  authorityEnd: number,
): string | undefined {
  if (serving === undefined) return "there is no usable serving certificate";
  if (!serving.signedByAuthority) return "the serving certificate is of another CA";
  const missing = hosts.find((host) => !serving.hosts.includes(host));
  if (missing !== undefined) return `the serving certificate does not name ${missing}`;
  if (!isValid(serving, now)) return "the serving certificate is not valid now";
  const isLastOfAuthority = serving.notAfter >= authorityEnd;
  if (!isLastOfAuthority && now >= serving.notAfter - policy.servingRenewalMs) {
    return "the serving certificate ends soon";
  }
  return undefined;
}

/** The moments at which the answer may change although nothing stored does. */
function nextMoment(
  { authority, next, serving, older }: ObservedCertificates,
  now: number,
  policy: CertificatePolicy,
): number {
  const moments = [
    authority && authority.notAfter - policy.authorityRenewalMs,
    authority?.notAfter,
    next && next.issuedAt + policy.propagationMs,
    serving && serving.notAfter - policy.servingRenewalMs,
    serving?.notAfter,
    serving && older.length > 0 ? serving.issuedAt + policy.propagationMs : undefined,
  ];
  const future = moments.filter((moment) => moment !== undefined).filter((moment) => moment > now);
  return Math.min(...future, now + DAY_MS);
}

/**
 * Decides the one step that is due.
 *
 * @param observed what is stored
 * @param hosts names that the serving certificate must carry
 * @param now milliseconds since the epoch
 */
export function decideCertificates(
  observed: ObservedCertificates,
  hosts: readonly string[],
  now: number,
  policy: CertificatePolicy = CERTIFICATE_POLICY,
): CertificateDecision {
  const { authority, next, serving, older } = observed;
  const step = (action: CertificateAction, reason: string): CertificateDecision => ({
    action,
    reason,
    askAgainAt: action === "keep" ? nextMoment(observed, now, policy) : now,
  });
  const nextIsUsable = next !== undefined && isValid(next, now);
  if (authority === undefined || !isValid(authority, now)) {
    return nextIsUsable
      ? step("promote-next", "the CA is unusable and the next one is there")
      : step("create", "there is no usable CA");
  }
  const fault = servingFault(serving, hosts, now, policy, authority.notAfter);
  if (fault !== undefined) return step("reissue", fault);
  if (nextIsUsable) {
    return now >= next.issuedAt + policy.propagationMs
      ? step("promote-next", "the next CA had time to be everywhere")
      : step("keep", "the next CA is spreading");
  }
  if (now >= authority.notAfter - policy.authorityRenewalMs) {
    return step("publish-next", "the CA ends soon");
  }
  const spread = serving !== undefined && now >= serving.issuedAt + policy.propagationMs;
  if (older.length > 0 && spread) return step("forget-older", "nothing is signed by them any more");
  return step("keep", "all is well");
}
