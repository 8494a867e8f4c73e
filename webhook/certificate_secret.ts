/** Secret of CA and serving certificate: format, and checks of what it holds. */
import { Buffer } from "node:buffer";
import type { Secret } from "../platform/kube/kubernetes.ts";
import { CA_KEY } from "../crds/names.ts";
import {
  certificateFacts,
  type CertificatePair,
  isSignedBy,
  pairFits,
  splitBundle,
} from "../platform/base/certificates.ts";
import type { ObservedCertificates } from "./certificate_decision.ts";

/** Keys of the Secret. */
const SECRET_KEYS = {
  caCert: CA_KEY,
  caKey: "ca.key",
  nextCert: "ca-next.crt",
  nextKey: "ca-next.key",
  tlsCert: "tls.crt",
  tlsKey: "tls.key",
} as const;

/** The certificates of the manager, each part absent if none is usable. */
export interface CertificateSet {
  /** The CA that signs. */
  readonly authority?: CertificatePair;
  /** Certificates of older CAs, still trusted; they follow the CA's own in `ca.crt`. */
  readonly older: readonly string[];
  /** The CA that will sign. */
  readonly next?: CertificatePair;
  readonly serving?: CertificatePair;
}

/** A set that can serve. */
export type CompleteCertificateSet = CertificateSet & {
  readonly authority: CertificatePair;
  readonly serving: CertificatePair;
};

/** Whether there is all that serving takes. */
export function isComplete(set: CertificateSet): set is CompleteCertificateSet {
  return set.authority !== undefined && set.serving !== undefined;
}

/** All CAs that are trusted, PEM. */
export function bundleOf(set: CertificateSet): string {
  const all = [set.authority?.certificate, ...set.older, set.next?.certificate];
  return [...new Set(all.filter((one) => one !== undefined))].join("");
}

function text(secret: Secret, key: string): string {
  return Buffer.from(secret.data?.[key] ?? "", "base64").toString("utf8");
}

/** The pair, or undefined if a part is missing or the key does not belong to the certificate. */
async function usablePair(certificate: string, key: string): Promise<CertificatePair | undefined> {
  const pair = { certificate, key };
  return await pairFits(pair) ? pair : undefined;
}

/**
 * Reads what can be used of a Secret. Never throws: a part that is invalid is absent. A CA whose key is lost
 * signs no more, but what it signed is still served: it counts as an older one.
 */
export async function decodeSecret(secret: Secret | undefined): Promise<CertificateSet> {
  if (secret === undefined) return { older: [] };
  const trusted = splitBundle(text(secret, SECRET_KEYS.caCert));
  const authority = await usablePair(trusted[0] ?? "", text(secret, SECRET_KEYS.caKey));
  return {
    authority,
    older: authority === undefined ? trusted : trusted.slice(1),
    next: await usablePair(text(secret, SECRET_KEYS.nextCert), text(secret, SECRET_KEYS.nextKey)),
    serving: await usablePair(
      text(secret, SECRET_KEYS.tlsCert),
      text(secret, SECRET_KEYS.tlsKey),
    ),
  };
}

function encode(value: string): string {
  return Buffer.from(value, "utf8").toString("base64");
}

/**
 * The Secret that stores the set, over `existing` if there is one: its metadata, with the
 * resourceVersion as precondition, and keys of others stay.
 */
export function encodeSecret(
  set: CompleteCertificateSet,
  key: { namespace: string; name: string },
  existing?: Secret,
): Secret {
  const { [SECRET_KEYS.nextCert]: _cert, [SECRET_KEYS.nextKey]: _key, ...kept } = existing?.data ??
    {};
  const data = {
    ...kept,
    [SECRET_KEYS.caCert]: encode([set.authority.certificate, ...set.older].join("")),
    [SECRET_KEYS.caKey]: encode(set.authority.key),
    [SECRET_KEYS.tlsCert]: encode(set.serving.certificate),
    [SECRET_KEYS.tlsKey]: encode(set.serving.key),
    ...(set.next === undefined ? {} : {
      [SECRET_KEYS.nextCert]: encode(set.next.certificate),
      [SECRET_KEYS.nextKey]: encode(set.next.key),
    }),
  };
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: existing?.metadata ?? { namespace: key.namespace, name: key.name },
    type: existing?.type ?? "Opaque",
    data,
  };
}

/** Input of `decideCertificates` about a set. */
export async function observe(set: CertificateSet): Promise<ObservedCertificates> {
  const { authority, next, serving } = set;
  return {
    authority: authority && certificateFacts(authority.certificate),
    next: next && certificateFacts(next.certificate),
    older: set.older.map(certificateFacts),
    serving: serving && {
      ...certificateFacts(serving.certificate),
      signedByAuthority: authority !== undefined &&
        await isSignedBy(serving.certificate, authority.certificate),
    },
  };
}
