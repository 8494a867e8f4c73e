/** Tests of certificates without policy; those of the manager's own CA are in `tests/webhook/`. */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { certificateFacts, issueCertificate } from "../../../platform/base/certificates.ts";

const NOW = Date.parse("2026-08-19T20:00:00Z");

Deno.test("`issueCertificate()` without a CA makes one that has signed itself", async () => {
  const terms = { subject: "CN=node", now: NOW, lifeMs: 1000, hosts: ["10.0.0.1", "node"] };
  const { certificate: pem } = await issueCertificate(undefined, terms);
  const certificate = new X509Certificate(pem);
  assert.ok(certificate.verify(certificate.publicKey));
  assert.deepEqual([certificate.issuer, certificate.subject], ["CN=node", "CN=node"]);
  const { hosts, notAfter, issuedAt } = certificateFacts(pem);
  assert.deepEqual([hosts, notAfter, issuedAt], [["10.0.0.1", "node"], NOW + 1000, NOW]);
});
