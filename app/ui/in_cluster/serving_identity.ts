/** Certificate of the page's server in a cluster: from files that are read again, or self-signed. */
import { getLogger } from "@logtape/logtape";
import { existsSync } from "node:fs";
import { assertUsable, type TlsIdentity } from "../../../platform/http/tls.ts";
import type { Clock } from "../../../platform/base/clock.ts";
import { ConfigurationError, messageOf } from "../../../platform/kube/errors.ts";
import {
  createAuthority,
  issueServingCertificate,
  SERVING_LIFE_MS,
} from "../../../webhook/certificate_authority.ts";
import {
  type CertificateFiles,
  certificateFiles,
  followTls,
  readCertificate,
} from "../../tls_files.ts";

/** After which a self-signed certificate is made anew, in milliseconds. */
const RENEW_MS = SERVING_LIFE_MS / 2;

const log = getLogger(["milepost", "page"]);

/** Returns what the files have; undefined if neither is there: a Secret may be made later. */
function readIdentity(files: CertificateFiles): TlsIdentity | undefined {
  if (!existsSync(files.tlsCert) && !existsSync(files.tlsKey)) return undefined;
  const identity = readCertificate(files);
  try {
    assertUsable(identity);
  } catch (cause) {
    throw new ConfigurationError(`--tls-cert, --tls-key: ${messageOf(cause)}`, { cause });
  }
  return identity;
}

async function selfSigned(hosts: readonly string[], clock: Clock): Promise<TlsIdentity> {
  const authority = await createAuthority(clock.now());
  const { certificate, key } = await issueServingCertificate(authority, hosts, clock.now());
  return { cert: certificate, key };
}

/** Reads or makes the first certificate. Throws a {@link ConfigurationError} if the files cannot be used. */
export async function servingIdentity(
  given: Parameters<typeof certificateFiles>[0],
  { hosts, clock }: { readonly hosts: readonly string[]; readonly clock: Clock },
) {
  const files = certificateFiles(given);
  const fromFiles = () => files && readIdentity(files);
  const found = fromFiles();
  if (found === undefined && files !== undefined) {
    log.warn("there is no certificate yet; serving with a self-signed one", { ...files });
  }
  const first = found ?? await selfSigned(hosts, clock);
  let renewMs = found === undefined ? clock.monotonic() + RENEW_MS : Infinity;

  /** Returns that of the files, or another self-signed one where it is time for that. */
  async function next(): Promise<TlsIdentity | undefined> {
    const found = fromFiles();
    if (found !== undefined) renewMs = Infinity;
    if (found !== undefined || clock.monotonic() < renewMs) return found;
    const own = await selfSigned(hosts, clock);
    renewMs = clock.monotonic() + RENEW_MS;
    return own;
  }

  return {
    first,
    /** Calls `use` with each newer one until `signal` aborts. */
    follow: (use: (identity: TlsIdentity) => void, signal: AbortSignal) =>
      followTls(first, next, use, { clock, log, signal }),
  };
}
