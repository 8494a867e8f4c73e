/** Tests of the certificate of the page in a cluster: from files that come and change, or self-signed until then. */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { servingIdentity } from "../../../app/ui/in_cluster/serving_identity.ts";
import { assertUsable, type TlsIdentity } from "../../../platform/http/tls.ts";
import {
  createAuthority,
  issueServingCertificate,
} from "../../../webhook/certificate_authority.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { until } from "../../support/until.ts";

const HOSTS = ["kubeflow-trainer-ui", "localhost", "127.0.0.1", "::1"];

async function pair(): Promise<TlsIdentity> {
  const authority = await createAuthority(Date.now());
  const { certificate: cert, key } = await issueServingCertificate(
    authority,
    ["page.example"],
    Date.now(),
  );
  return { cert, key };
}

/** Runs `work` with the paths of files that do not exist yet. */
async function withFiles(
  work: (
    files: { tlsCert: string; tlsKey: string; write(it: TlsIdentity): Promise<void> },
  ) => Promise<void>,
) {
  const folder = await Deno.makeTempDir();
  const [tlsCert, tlsKey] = [`${folder}/tls.crt`, `${folder}/tls.key`];
  try {
    await work({
      tlsCert,
      tlsKey,
      async write({ cert, key }) {
        await Deno.writeTextFile(tlsCert, cert);
        await Deno.writeTextFile(tlsKey, key);
      },
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("without files the certificate is self-signed, and names the hosts", async () => {
  const clock = new FakeClock(Date.now());
  const { first, follow } = await servingIdentity({}, { hosts: HOSTS, clock });
  assertUsable(first);
  const certificate = new X509Certificate(first.cert);
  for (const host of ["kubeflow-trainer-ui", "localhost"]) assert.ok(certificate.checkHost(host));
  for (const address of ["127.0.0.1", "::1"]) assert.ok(certificate.checkIP(address), address);
  const used: TlsIdentity[] = [];
  const stop = new AbortController();
  const following = follow((it) => used.push(it), stop.signal);
  await clock.advance(60_000);
  assert.equal(used.length, 0);
  stop.abort();
  await following;
  assert.equal(clock.sleeping, 0);
});

Deno.test("a Secret that is made later, and one that changes, is served; a broken one is not", () =>
  withFiles(async ({ write, ...files }) => {
    const clock = new FakeClock();
    const { first, follow } = await servingIdentity(files, { hosts: HOSTS, clock });
    assertUsable(first);
    const used: TlsIdentity[] = [];
    const stop = new AbortController();
    const following = follow((it) => used.push(it), stop.signal);
    const next = async (count: number) => {
      await until(`${count} certificates were used`, async () => {
        await clock.advance(15_000);
        return used.length === count;
      });
    };
    const [one, other] = [await pair(), await pair()];
    await write(one);
    await next(1);
    assert.equal(used[0]?.cert, one.cert);
    await write({ ...other, key: one.key });
    await clock.advance(60_000);
    assert.equal(used.length, 1, "the key is not the certificate's");
    await write(other);
    await next(2);
    assert.equal(used[1]?.cert, other.cert);
    stop.abort();
    await following;
  }));

Deno.test("files that cannot be used, or one alone, are refused at the start", () =>
  withFiles(async ({ write, tlsCert, tlsKey }) => {
    const clock = new FakeClock();
    await assert.rejects(
      servingIdentity({ tlsCert }, { hosts: HOSTS, clock }),
      /--tls-cert and --tls-key must be given together/,
    );
    await write({ cert: "no PEM", key: "no PEM" });
    await assert.rejects(
      servingIdentity({ tlsCert, tlsKey }, { hosts: HOSTS, clock }),
      /--tls-cert, --tls-key: .*not valid PEM/,
    );
    const { cert, key } = await pair();
    await write({ cert, key });
    const { first } = await servingIdentity({ tlsCert, tlsKey }, { hosts: HOSTS, clock });
    assert.equal(first.cert, cert);
  }));
