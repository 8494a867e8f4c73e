/** Certificates that the Training Operator accepts as its own: it makes new ones instead of any others. */
import "reflect-metadata";
import * as x509 from "@peculiar/x509";
import { createPrivateKey } from "node:crypto";
import type { KeyPair } from "../../cluster/control_plane/certificates.ts";

/** The operator reads the key of the CA as PKCS #1, which only RSA keys can be. */
const ALGORITHM = {
  name: "RSASSA-PKCS1-v1_5",
  modulusLength: 2048,
  publicExponent: new Uint8Array([1, 0, 1]),
  hash: "SHA-256",
} as const;

/** Certificates that end within 90 days are replaced. */
const VALID_MS = 365 * 24 * 60 * 60 * 1000;

/** Name of its CA, which must be in the certificate as an alternative name too. */
const CA_NAME = "training-operator-ca";

/** Certificate and key of its CA and of its webhook server, PEM. */
export interface OperatorCertificates {
  readonly ca: KeyPair;
  readonly server: KeyPair;
}

async function pkcs1Of(key: CryptoKey): Promise<string> {
  const der = await crypto.subtle.exportKey("pkcs8", key);
  const pem = x509.PemConverter.encode(der, "PRIVATE KEY");
  return String(createPrivateKey(pem).export({ type: "pkcs1", format: "pem" }));
}

/** Makes a CA, and a certificate for a server on 127.0.0.1 that has the name of the operator's Service. */
export async function createOperatorCertificates(service: string): Promise<OperatorCertificates> {
  const [keys, own] = await Promise.all(
    [1, 2].map(() => crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"])),
  );
  if (keys === undefined || own === undefined) throw new Error("no keys were made");
  const validity = {
    notBefore: new Date(Date.now() - 60 * 60 * 1000),
    notAfter: new Date(Date.now() + VALID_MS),
  };
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: "01",
    name: [{ CN: [CA_NAME] }],
    ...validity,
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(
        x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.digitalSignature,
        true,
      ),
      new x509.SubjectAlternativeNameExtension([{ type: "dns", value: CA_NAME }]),
    ],
  });
  const server = await x509.X509CertificateGenerator.create({
    serialNumber: "02",
    subject: [{ CN: [service] }],
    issuer: ca.subject,
    ...validity,
    publicKey: own.publicKey,
    signingKey: keys.privateKey,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension([
        { type: "dns", value: service },
        { type: "ip", value: "127.0.0.1" },
      ]),
    ],
  });
  return {
    ca: { cert: `${ca.toString("pem")}\n`, key: await pkcs1Of(keys.privateKey) },
    server: { cert: `${server.toString("pem")}\n`, key: await pkcs1Of(own.privateKey) },
  };
}
