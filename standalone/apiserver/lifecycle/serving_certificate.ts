/** Serving certificate of the API server, and the certificate authority that issues it. */
import { z } from "zod";
import { issueCertificate, makeAuthority } from "../../../platform/base/certificates.ts";
import type { Settings } from "../storage/database.ts";

const YEAR_MS = 365 * 24 * 3600 * 1000;
const CA_LIFE_MS = 10 * YEAR_MS;
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
  cert: z.string(),
  key: z.string(),
  notAfter: z.number(),
});
type Saved = z.infer<typeof saved>;

/** Certificate and key of the server, and the CA that clients trust, as PEM. */
export type ServingCertificate = Omit<Saved, "notAfter">;

async function make(now: number, hostname: string): Promise<Saved> {
  const subject = `CN=milepost-apiserver-ca-${crypto.randomUUID().slice(0, 8)}`;
  const authority = await makeAuthority({ subject, now, lifeMs: CA_LIFE_MS });
  const { certificate: cert, key } = await issueCertificate(authority, {
    subject: "CN=kube-apiserver",
    now,
    lifeMs: YEAR_MS,
    hosts: [...DNS_NAMES, hostname],
  });
  return { ca: authority.certificate, cert, key, notAfter: now + YEAR_MS };
}

/** Returns the certificate in the settings; it is created on first use and before it expires. */
export async function servingCertificate(
  settings: Settings,
  options: { now: number; hostname: string },
): Promise<ServingCertificate> {
  const text = settings.setting(SETTING);
  const known = text === undefined ? undefined : saved.parse(JSON.parse(text));
  if (known && known.notAfter - options.now > RENEW_BEFORE_MS) return known;
  const made = await make(options.now, options.hostname);
  settings.setSetting(SETTING, JSON.stringify(made));
  return made;
}
