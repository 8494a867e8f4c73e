/** Certificates for tests: one authority, and what it signs. */
import "reflect-metadata";
import * as x509 from "@peculiar/x509";

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

/** A certificate with its key, as PEM. */
export interface Certificate {
  readonly certPem: string;
  readonly keyPem: string;
}

async function keyPem(keys: CryptoKeyPair): Promise<string> {
  const der = await crypto.subtle.exportKey("pkcs8", keys.privateKey);
  return x509.PemConverter.encode(der, "PRIVATE KEY");
}

/** Makes an authority, and certificates that it signed: one for 127.0.0.1, one for a client. */
export async function makeCertificates(): Promise<{
  caPem: string;
  server: Certificate;
  client: Certificate;
}> {
  const notBefore = new Date(Date.now() - 60_000);
  const notAfter = new Date(Date.now() + 3_600_000);
  const generate = async () => {
    const keys = await crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
    if (!("privateKey" in keys)) throw new Error("no key pair");
    return keys;
  };
  const caKeys = await generate();
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    name: "CN=test authority",
    notBefore,
    notAfter,
    keys: caKeys,
    signingAlgorithm: ALGORITHM,
    extensions: [new x509.BasicConstraintsExtension(true)],
  });
  const sign = async (subject: string, extensions: x509.Extension[]): Promise<Certificate> => {
    const keys = await generate();
    const certificate = await x509.X509CertificateGenerator.create({
      subject,
      issuer: ca.subject,
      notBefore,
      notAfter,
      signingKey: caKeys.privateKey,
      publicKey: keys.publicKey,
      signingAlgorithm: ALGORITHM,
      extensions,
    });
    return { certPem: certificate.toString("pem"), keyPem: await keyPem(keys) };
  };
  const names = new x509.SubjectAlternativeNameExtension([{ type: "ip", value: "127.0.0.1" }]);
  return {
    caPem: ca.toString("pem"),
    server: await sign("CN=127.0.0.1", [names]),
    client: await sign("CN=tester", []),
  };
}
