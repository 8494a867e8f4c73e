/** Self-signed serving certificate of the kubelet, for a kubelet without a given one. */
import "reflect-metadata";
import * as x509 from "@peculiar/x509";
import { isIP } from "node:net";

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * A self-signed certificate for `hosts`, good for a year from `now` (milliseconds since the epoch).
 * Clients that verify kubelets need one that their own CA signed instead.
 */
export async function selfSignedCertificate(
  hosts: readonly string[],
  now: number,
): Promise<{ cert: string; key: string }> {
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: `4${crypto.randomUUID().replaceAll("-", "").slice(1)}`,
    name: [{ CN: ["milepost-kubelet"] }],
    notBefore: new Date(now - DAY_MS / 24),
    notAfter: new Date(now + 365 * DAY_MS),
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(
        hosts.map((value) => ({ type: isIP(value) ? "ip" as const : "dns" as const, value })),
      ),
    ],
  });
  const key = await crypto.subtle.exportKey("pkcs8", keys.privateKey);
  return {
    cert: `${certificate.toString("pem")}\n`,
    key: `${x509.PemConverter.encode(key, "PRIVATE KEY")}\n`,
  };
}
