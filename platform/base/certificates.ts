/** X.509 certificates without policy: issues them, and reads what they say. */
import "reflect-metadata";
import * as x509 from "@peculiar/x509";
import { isIP } from "node:net";

/** A certificate with its private key, both PEM (the key PKCS #8). */
export interface CertificatePair {
  readonly certificate: string;
  readonly key: string;
}

/** Content of a certificate. Times are in milliseconds since the epoch. */
export type CertificateFacts = Readonly<ReturnType<typeof certificateFacts>>;

/** What a new certificate is to say. Times are in milliseconds. */
export interface CertificateTerms {
  readonly subject: string;
  /** When it is made, since the epoch. */
  readonly now: number;
  /** How long it is valid, or as long as its CA if that ends before. */
  readonly lifeMs: number;
}

/** What a new certificate of a server is to say. */
export interface ServingTerms extends CertificateTerms {
  /** DNS names and IP addresses. */
  readonly hosts: readonly string[];
  /** Whether the server shows it to other servers as well (mutual TLS). Default false. */
  readonly isClientToo?: boolean;
}

const KEY_ALGORITHM = { name: "ECDSA", namedCurve: "P-256" } as const;
const SIGNATURE = { name: "ECDSA", hash: "SHA-256" } as const;
/**
 * How far `notBefore` lies in the past, in milliseconds: pods and API servers whose clocks are behind
 * must not find a fresh certificate invalid.
 */
const BACKDATE_MS = 60 * 60 * 1000;

function generateKeys(): Promise<CryptoKeyPair> {
  return crypto.subtle.generateKey(KEY_ALGORITHM, true, ["sign", "verify"]);
}

async function keyToPem(key: CryptoKey): Promise<string> {
  const bytes = await crypto.subtle.exportKey("pkcs8", key);
  return x509.PemConverter.encode(bytes, x509.PemConverter.PrivateKeyTag) + "\n";
}

/** Reads a PKCS #8 key of ours. Throws for every other. */
async function keyFromPem(pem: string): Promise<CryptoKey> {
  const bytes = x509.PemConverter.decodeFirst(pem);
  return await crypto.subtle.importKey("pkcs8", bytes, KEY_ALGORITHM, true, ["sign"]);
}

/** A random positive serial number of 128 bits, as hexadecimal digits. */
function serialNumber(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const digits = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return `4${digits.slice(1)}`;
}

async function toPair(certificate: x509.X509Certificate, key: CryptoKey): Promise<CertificatePair> {
  return { certificate: certificate.toString("pem") + "\n", key: await keyToPem(key) };
}

/** Makes a CA. */
export async function makeAuthority(
  { subject, now, lifeMs }: CertificateTerms,
): Promise<CertificatePair> {
  const keys = await generateKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: subject,
    notBefore: new Date(now - BACKDATE_MS),
    notAfter: new Date(now + lifeMs),
    signingAlgorithm: SIGNATURE,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(
        x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign,
        true,
      ),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return await toPair(certificate, keys.privateKey);
}

/** Issues a certificate for a server; without a CA it signs itself. */
export async function issueCertificate(
  authority: CertificatePair | undefined,
  { subject, now, lifeMs, hosts, isClientToo = false }: ServingTerms,
): Promise<CertificatePair> {
  const { serverAuth, clientAuth } = x509.ExtendedKeyUsage;
  const keys = await generateKeys();
  const issuer = authority && new x509.X509Certificate(authority.certificate);
  const names = hosts.map((value) => ({
    type: isIP(value) ? "ip" as const : "dns" as const,
    value,
  }));
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject,
    issuer: issuer?.subjectName ?? subject,
    notBefore: new Date(now - BACKDATE_MS),
    notAfter: new Date(Math.min(now + lifeMs, issuer?.notAfter.getTime() ?? Infinity)),
    signingAlgorithm: SIGNATURE,
    publicKey: keys.publicKey,
    signingKey: authority ? await keyFromPem(authority.key) : keys.privateKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension(isClientToo ? [serverAuth, clientAuth] : [serverAuth]),
      new x509.SubjectAlternativeNameExtension(names),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      await x509.AuthorityKeyIdentifierExtension.create(issuer?.publicKey ?? keys.publicKey),
    ],
  });
  return await toPair(certificate, keys.privateKey);
}

/** Reads the first certificate of a PEM text. Throws if there is none. */
export function certificateFacts(pem: string) {
  const certificate = new x509.X509Certificate(pem);
  const names = certificate.getExtension(x509.SubjectAlternativeNameExtension)?.names.items ?? [];
  return {
    notBefore: certificate.notBefore.getTime(),
    notAfter: certificate.notAfter.getTime(),
    /** Time of its creation: `notBefore` without its allowance for slow clocks. */
    issuedAt: certificate.notBefore.getTime() + BACKDATE_MS,
    /** DNS names and IP addresses of its subject alternative name. */
    hosts: names.map((name) => name.value),
  };
}

/** Whether the pair's key is the certificate's, and can sign. Never throws. */
export async function pairFits(pair: CertificatePair): Promise<boolean> {
  try {
    const data = new TextEncoder().encode("does the key fit");
    const signature = await crypto.subtle.sign(SIGNATURE, await keyFromPem(pair.key), data);
    const certificate = new x509.X509Certificate(pair.certificate);
    const publicKey = await certificate.publicKey.export(KEY_ALGORITHM, ["verify"]);
    return await crypto.subtle.verify(SIGNATURE, publicKey, signature, data);
  } catch {
    return false;
  }
}

/** Whether `authority` (PEM) signed `certificate` (PEM), whatever the time. Never throws. */
export async function isSignedBy(certificate: string, authority: string): Promise<boolean> {
  try {
    const issuer = new x509.X509Certificate(authority);
    const leaf = new x509.X509Certificate(certificate);
    return await leaf.verify({ publicKey: issuer.publicKey, signatureOnly: true });
  } catch {
    return false;
  }
}

/** The certificates of a PEM text, each as its own PEM text; what cannot be read is left out. */
export function splitBundle(pem: string): string[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return blocks.filter(isCertificate).map((block) => `${block}\n`);
}

function isCertificate(pem: string): boolean {
  try {
    return new x509.X509Certificate(pem).notAfter.getTime() > 0;
  } catch {
    return false;
  }
}
