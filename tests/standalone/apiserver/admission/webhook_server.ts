/** HTTPS webhook on loopback, with its own certificate authority. */
import "reflect-metadata";
import * as x509 from "@peculiar/x509";
import { at } from "../../../../platform/base/json.ts";

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

/** A CA with a server certificate, all PEM. */
export interface TestCertificates {
  readonly ca: string;
  readonly certificate: string;
  readonly key: string;
}

/** Makes a CA and a certificate for 127.0.0.1 and `hook.ns.svc`. */
export async function makeCertificates(): Promise<TestCertificates> {
  const generate = () => crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const [caKeys, keys] = await Promise.all([generate(), generate()]);
  const lifetime = {
    notBefore: new Date(Date.now() - 60_000),
    notAfter: new Date(Date.now() + 3_600_000),
  };
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: "01",
    name: "CN=test authority",
    ...lifetime,
    signingAlgorithm: ALGORITHM,
    keys: caKeys,
    extensions: [new x509.BasicConstraintsExtension(true, undefined, true)],
  });
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: "02",
    subject: "CN=hook",
    issuer: ca.subject,
    ...lifetime,
    signingAlgorithm: ALGORITHM,
    publicKey: keys.publicKey,
    signingKey: caKeys.privateKey,
    extensions: [
      new x509.SubjectAlternativeNameExtension([
        { type: "ip", value: "127.0.0.1" },
        { type: "dns", value: "hook.ns.svc" },
      ]),
      new x509.ExtendedKeyUsageExtension(["1.3.6.1.5.5.7.3.1"]),
    ],
  });
  const der = await crypto.subtle.exportKey("pkcs8", keys.privateKey);
  return {
    ca: ca.toString("pem"),
    certificate: certificate.toString("pem"),
    key: x509.PemConverter.encode(der, "PRIVATE KEY"),
  };
}

/** Answer of a handler to a review that came from a port: the `response` without uid, or a whole HTTP response. */
export type Handler = (review: unknown, port: number) => unknown | Promise<unknown>;

/** Runs a test against a webhook on a free port of loopback. */
export async function withWebhook(
  certificates: TestCertificates,
  handler: Handler,
  test: (port: number) => Promise<void>,
): Promise<void> {
  const server = Deno.serve({
    hostname: "127.0.0.1",
    port: 0,
    cert: certificates.certificate,
    key: certificates.key,
    onListen: () => {},
  }, async (request, { remoteAddr }) => {
    const review: unknown = await request.json();
    const answer = await handler(review, remoteAddr.port);
    return answer instanceof Response ? answer : Response.json(reviewAnswer(review, answer));
  });
  try {
    await test(server.addr.port);
  } finally {
    await server.shutdown();
  }
}

/** The AdmissionReview that answers another one. */
export function reviewAnswer(review: unknown, response: unknown): unknown {
  return {
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    response: { uid: at(review, "request", "uid"), ...Object(response) },
  };
}
