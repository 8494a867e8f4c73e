/** Serving certificate of the API server, and the certificate authority that issues it. */
import "reflect-metadata";
import * as x509 from "@peculiar/x509";
import { z } from "zod";
import type { Store } from "../storage/store.ts";

/** Certificate and key of the server, and the CA that clients trust, as PEM. */
export interface ServingCertificate {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

const KEY_ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const YEAR_MS = 365 * 24 * 3600 * 1000;
const CA_YEARS = 10;
/** A serving certificate that expires within this time is renewed at start. */
const RENEW_BEFORE_MS = YEAR_MS / 12;
const SETTING = "serving-certificate";
const DNS_NAMES = [
  "localhost",
  "kubernetes",
  "kubernetes.default",
  "kubernetes.default.svc",
  "kubernetes.default.svc.cluster.local",
];

const saved = z.object({
  ca: z.string(),
  caKey: z.string(),
  cert: z.string(),
  key: z.string(),
  notAfter: z.number(),
});
type Saved = z.infer<typeof saved>;

function serialNumber(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[0] = (bytes[0] ?? 0) & 0x7f | 0x40;
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function pemOfKey(key: CryptoKey): Promise<string> {
  const bytes = await crypto.subtle.exportKey("pkcs8", key);
  return x509.PemConverter.encode(bytes, "PRIVATE KEY");
}

function newKeys(): Promise<CryptoKeyPair> {
  return crypto.subtle.generateKey(KEY_ALGORITHM, true, ["sign", "verify"]);
}

async function make(now: number, hostname: string): Promise<Saved> {
  const [caKeys, keys] = await Promise.all([newKeys(), newKeys()]);
  const from = new Date(now - 3600_000);
  const subject = `CN=milepost-apiserver-ca-${serialNumber().slice(0, 8)}`;
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: subject,
    notBefore: from,
    notAfter: new Date(now + CA_YEARS * YEAR_MS),
    keys: caKeys,
    signingAlgorithm: KEY_ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(
        x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign |
          x509.KeyUsageFlags.digitalSignature,
        true,
      ),
      await x509.SubjectKeyIdentifierExtension.create(caKeys.publicKey),
    ],
  });
  const notAfter = now + YEAR_MS;
  const cert = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: "CN=kube-apiserver",
    issuer: ca.subject,
    notBefore: from,
    notAfter: new Date(notAfter),
    publicKey: keys.publicKey,
    signingKey: caKeys.privateKey,
    signingAlgorithm: KEY_ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension([
        ...DNS_NAMES.map((value) => ({ type: "dns" as const, value })),
        { type: "ip" as const, value: hostname },
      ]),
      await x509.AuthorityKeyIdentifierExtension.create(caKeys.publicKey),
    ],
  });
  const [caKey, key] = await Promise.all([pemOfKey(caKeys.privateKey), pemOfKey(keys.privateKey)]);
  return { ca: ca.toString("pem"), caKey, cert: cert.toString("pem"), key, notAfter };
}

/** Returns the certificate in the store; it is created on first use and before it expires. */
export async function servingCertificate(
  store: Store,
  options: { now: number; hostname: string },
): Promise<ServingCertificate> {
  const text = store.setting(SETTING);
  const known = text === undefined ? undefined : saved.parse(JSON.parse(text));
  if (known && known.notAfter - options.now > RENEW_BEFORE_MS) return known;
  const made = await make(options.now, options.hostname);
  store.setSetting(SETTING, JSON.stringify(made));
  return made;
}
