/** The cluster's CA and what it signs: servers, and clients whose names are their certificates'. */
import "reflect-metadata";
import * as x509 from "@peculiar/x509";
import { isIP } from "node:net";

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const DAY_MS = 24 * 60 * 60 * 1000;

/** A certificate and its key, PEM. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

/** Subject of a certificate: a user and its groups, as Kubernetes reads them. */
export interface Identity {
  readonly user: string;
  readonly groups?: readonly string[];
}

/** A CA that signs. */
export interface Authority {
  readonly cert: string;
  readonly key: string;
  /** A certificate for a server on these hosts. */
  server(name: string, hosts: readonly string[]): Promise<KeyPair>;
  /** A certificate for a client. */
  client(identity: Identity): Promise<KeyPair>;
}

function serial(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return `4${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("").slice(1)}`;
}

async function pemOf(key: CryptoKey): Promise<string> {
  const bytes = await crypto.subtle.exportKey("pkcs8", key);
  return `${x509.PemConverter.encode(bytes, "PRIVATE KEY")}\n`;
}

function validity() {
  return { notBefore: new Date(Date.now() - DAY_MS / 24), notAfter: new Date(Date.now() + DAY_MS) };
}

/** Makes a CA that is good for a day. */
export async function createAuthority(name: string): Promise<Authority> {
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serial(),
    name: [{ CN: [name] }],
    ...validity(),
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });

  async function issue(subject: x509.JsonName, extensions: x509.Extension[]): Promise<KeyPair> {
    const own = await crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
    const cert = await x509.X509CertificateGenerator.create({
      serialNumber: serial(),
      subject,
      issuer: ca.subject,
      ...validity(),
      publicKey: own.publicKey,
      signingKey: keys.privateKey,
      signingAlgorithm: ALGORITHM,
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        await x509.AuthorityKeyIdentifierExtension.create(keys.publicKey),
        ...extensions,
      ],
    });
    return { cert: `${cert.toString("pem")}\n`, key: await pemOf(own.privateKey) };
  }

  return {
    cert: `${ca.toString("pem")}\n`,
    key: await pemOf(keys.privateKey),
    server: (subject, hosts) =>
      issue([{ CN: [subject] }], [
        new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
        new x509.SubjectAlternativeNameExtension(
          hosts.map((value) => ({ type: isIP(value) ? "ip" as const : "dns" as const, value })),
        ),
      ]),
    client: ({ user, groups = [] }) =>
      issue([{ CN: [user] }, ...groups.map((group) => ({ O: [group] }))], [
        new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth]),
      ]),
  };
}

/** An RSA key pair for signing service account tokens: PKCS #8 and SPKI as PEM. */
export async function createSigningKeys(): Promise<{ privatePem: string; publicPem: string }> {
  const keys = await crypto.subtle.generateKey(
    {
      name: "RSASSA-PKCS1-v1_5",
      modulusLength: 2048,
      publicExponent: new Uint8Array([1, 0, 1]),
      hash: "SHA-256",
    },
    true,
    ["sign", "verify"],
  );
  const spki = await crypto.subtle.exportKey("spki", keys.publicKey);
  return {
    privatePem: await pemOf(keys.privateKey),
    publicPem: `${x509.PemConverter.encode(spki, "PUBLIC KEY")}\n`,
  };
}
