/** TLS identities: certificates with their keys, and the check that they fit. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { messageOf } from "../kube/errors.ts";

/** A certificate chain with its key, as PEM. */
export interface TlsIdentity {
  readonly cert: string;
  readonly key: string;
  /** CAs that may have signed the certificates of the other side. */
  readonly ca?: string;
}

/** Throws if the parts are no PEM, or the key is not the certificate's. */
export function assertUsable({ cert, key, ca }: TlsIdentity): void {
  let fits: boolean;
  try {
    if (ca !== undefined) new X509Certificate(ca);
    fits = new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
  } catch (cause) {
    throw new Error(`certificate, key or CA is not valid PEM: ${messageOf(cause)}`, { cause });
  }
  if (!fits) throw new Error("the private key does not belong to the certificate");
}

/** Verified certificate of a client. */
export interface ClientCertificate {
  /** Common names of its subject; Kubernetes takes the first for the user. */
  readonly commonNames: readonly string[];
  /** Organizations of its subject; Kubernetes takes them for the groups. */
  readonly organizations: readonly string[];
  readonly dnsNames: readonly string[];
}
