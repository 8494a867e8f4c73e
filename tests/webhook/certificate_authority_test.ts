/** Tests of issued certificates, as node:tls checks them. */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { createAuthority, issueServingCertificate } from "../../webhook/certificate_authority.ts";
import {
  certificateFacts,
  isSignedBy,
  pairFits,
  splitBundle,
} from "../../platform/base/certificates.ts";
import { servingNames } from "../../webhook/serving_names.ts";
import { NOW } from "./builders.ts";

const DAY = 24 * 60 * 60 * 1000;

Deno.test("`createAuthority()` makes a CA for ten years that fits its key", async () => {
  const authority = await createAuthority(NOW);
  const certificate = new X509Certificate(authority.certificate);
  assert.equal(certificate.ca, true);
  assert.equal(certificate.verify(certificate.publicKey), true);
  assert.equal(Date.parse(certificate.validTo) - NOW, 3650 * DAY);
  assert.equal(certificateFacts(authority.certificate).issuedAt, NOW);
  assert.ok(await pairFits(authority));
});

Deno.test("`issueServingCertificate()` names DNS names and IP addresses, for a year", async () => {
  const authority = await createAuthority(NOW);
  const serving = await issueServingCertificate(authority, ["a.b", "127.0.0.1", "::1"], NOW);
  const certificate = new X509Certificate(serving.certificate);
  const issuer = new X509Certificate(authority.certificate);
  assert.equal(certificate.ca, false);
  assert.ok(certificate.checkIssued(issuer));
  assert.ok(certificate.verify(issuer.publicKey));
  assert.equal(certificate.checkHost("a.b"), "a.b");
  assert.equal(certificate.checkHost("b"), undefined);
  assert.equal(certificate.checkIP("127.0.0.1"), "127.0.0.1");
  assert.ok(certificate.checkIP("::1"));
  assert.equal(Date.parse(certificate.validTo) - NOW, 365 * DAY);
  const facts = certificateFacts(serving.certificate);
  for (const host of ["a.b", "127.0.0.1", "::1"]) assert.ok(facts.hosts.includes(host), host);
});

Deno.test("a fresh certificate is valid for clients whose clock is 10 minutes behind or ahead", async () => {
  const authority = await createAuthority(NOW);
  const serving = await issueServingCertificate(authority, ["a"], NOW);
  for (const pair of [authority, serving]) {
    const { notBefore, notAfter } = certificateFacts(pair.certificate);
    assert.ok(notBefore <= NOW - 10 * 60_000);
    assert.ok(notAfter >= NOW + 10 * 60_000);
  }
});

Deno.test("`issueServingCertificate()` does not outlive the CA", async () => {
  const authority = await createAuthority(NOW);
  const late = NOW + 3600 * DAY;
  const serving = await issueServingCertificate(authority, ["a"], late);
  const ends = [serving, authority].map((pair) => certificateFacts(pair.certificate).notAfter);
  assert.equal(ends[0], ends[1]);
});

Deno.test("`pairFits()` and `isSignedBy()` refuse foreign keys and invalid PEM", async () => {
  const [one, other] = await Promise.all([createAuthority(NOW), createAuthority(NOW)]);
  const serving = await issueServingCertificate(one, ["a"], NOW);
  assert.equal(await isSignedBy(serving.certificate, one.certificate), true);
  assert.equal(await isSignedBy(serving.certificate, other.certificate), false);
  assert.equal(await isSignedBy(serving.certificate, "rubbish"), false);
  assert.equal(await pairFits({ ...one, key: other.key }), false);
  assert.equal(await pairFits({ ...one, key: "" }), false);
  assert.equal(await pairFits({ ...one, certificate: "rubbish" }), false);
});

Deno.test("`splitBundle()` leaves out everything but certificates", async () => {
  const { certificate } = await createAuthority(NOW);
  const rubbish = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  assert.deepEqual(splitBundle(`x\n${rubbish}${certificate}${rubbish}`), [certificate]);
  assert.deepEqual(splitBundle(""), []);
});

Deno.test("`servingNames()` names the Service and the hosts of base URLs", () => {
  const baseUrls = ["https://127.0.0.1:9443", "https://[::1]:1/x", "https://host.example"];
  assert.deepEqual(servingNames({ service: "svc", namespace: "ns", baseUrls }), [
    "svc",
    "svc.ns",
    "svc.ns.svc",
    "svc.ns.svc.cluster.local",
    "127.0.0.1",
    "::1",
    "host.example",
  ]);
});
