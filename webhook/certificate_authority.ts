/** Certificate authority of the manager: its names, and how long what it issues is valid. */
import {
  type CertificatePair,
  issueCertificate,
  makeAuthority,
} from "../platform/base/certificates.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

/** Life of a CA, in milliseconds: ten years. */
export const AUTHORITY_LIFE_MS = 3650 * DAY_MS;
/** Life of a serving certificate, in milliseconds: one year, or as long as its CA. */
export const SERVING_LIFE_MS = 365 * DAY_MS;

/** Makes a CA that is valid from `now` (milliseconds since the epoch) for ten years. */
export function createAuthority(now: number): Promise<CertificatePair> {
  const subject = "CN=kubeflow-trainer-ca, O=milepost";
  return makeAuthority({ subject, now, lifeMs: AUTHORITY_LIFE_MS });
}

/**
 * Issues a certificate for servers (and for mutual TLS between replicas) on `hosts`, DNS names or IP
 * addresses, at `now` (milliseconds since the epoch). It does not outlive its CA.
 */
export function issueServingCertificate(
  authority: CertificatePair,
  hosts: readonly string[],
  now: number,
): Promise<CertificatePair> {
  const subject = "CN=kubeflow-trainer, O=milepost";
  const lifeMs = SERVING_LIFE_MS;
  return issueCertificate(authority, { subject, now, lifeMs, hosts, isClientToo: true });
}
