/** Certificates for tests: self-signed, valid now, made in memory. */
import "reflect-metadata";
import * as x509 from "@peculiar/x509";
import type { TlsIdentity } from "../../../platform/http/tls.ts";

function pem(label: string, der: ArrayBuffer): string {
  return x509.PemConverter.encode(der, label);
}

/** A self-signed certificate for `localhost`, identified by its common name. */
export async function certificate(commonName: string): Promise<TlsIdentity> {
  const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const cert = await x509.X509CertificateGenerator.createSelfSigned({
    name: `CN=${commonName}`,
    notBefore: new Date(Date.now() - 60_000),
    notAfter: new Date(Date.now() + 3_600_000),
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      new x509.SubjectAlternativeNameExtension([{ type: "dns", value: "localhost" }]),
    ],
  });
  const key = await crypto.subtle.exportKey("pkcs8", keys.privateKey);
  return { cert: cert.toString("pem"), key: pem("PRIVATE KEY", key) };
}
