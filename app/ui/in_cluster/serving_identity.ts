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
import { readFlagFile } from "../../flag_file.ts";

/** Where the certificate is; while the files are not there, it is self-signed. */
export interface ServingFiles {
  /** PEM; both or none. */
  readonly tlsCert?: string | undefined;
  readonly tlsKey?: string | undefined;
}

/** Between two reads of the files, in milliseconds. */
const READ_MS = 15_000;
/** After which a self-signed certificate is made anew, in milliseconds. */
const RENEW_MS = SERVING_LIFE_MS / 2;

const log = getLogger(["milepost", "page"]);

/** Returns what the files have; undefined if neither is there: a Secret may be made later. */
async function readIdentity(tlsCert: string, tlsKey: string): Promise<TlsIdentity | undefined> {
  if (!existsSync(tlsCert) && !existsSync(tlsKey)) return undefined;
  const [cert, key] = await Promise.all([
    readFlagFile("--tls-cert", tlsCert),
    readFlagFile("--tls-key", tlsKey),
  ]);
  try {
    assertUsable({ cert, key });
  } catch (cause) {
    throw new ConfigurationError(`--tls-cert, --tls-key: ${messageOf(cause)}`, { cause });
  }
  return { cert, key };
}

async function selfSigned(hosts: readonly string[], clock: Clock): Promise<TlsIdentity> {
  const authority = await createAuthority(clock.now());
  const { certificate, key } = await issueServingCertificate(authority, hosts, clock.now());
  return { cert: certificate, key };
}

/** Reads or makes the first certificate. Throws a {@link ConfigurationError} if the files cannot be used. */
export async function servingIdentity(
  { tlsCert, tlsKey }: ServingFiles,
  { hosts, clock }: { readonly hosts: readonly string[]; readonly clock: Clock },
) {
  if ((tlsCert === undefined) !== (tlsKey === undefined)) {
    throw new ConfigurationError("--tls-cert and --tls-key must be given together");
  }
  const fromFiles = async () =>
    tlsCert === undefined || tlsKey === undefined ? undefined : await readIdentity(tlsCert, tlsKey);
  const found = await fromFiles();
  if (found === undefined && tlsCert !== undefined) {
    log.warn("there is no certificate yet; serving with a self-signed one", { tlsCert, tlsKey });
  }
  const first = found ?? await selfSigned(hosts, clock);
  return {
    first,
    /** Calls `use` with each newer one until `signal` aborts. */
    async follow(use: (identity: TlsIdentity) => void, signal: AbortSignal): Promise<void> {
      let current = first;
      let renewMs = clock.monotonic() + RENEW_MS;
      let isOwn = found === undefined;
      for (;;) {
        await clock.sleep(READ_MS, signal);
        if (signal.aborted) return;
        try {
          const isDue = isOwn && clock.monotonic() >= renewMs;
          const next = await fromFiles() ?? (isDue ? await selfSigned(hosts, clock) : undefined);
          if (next === undefined || next.cert === current.cert && next.key === current.key) {
            continue;
          }
          use(next);
          current = next;
          isOwn = isDue;
          renewMs = clock.monotonic() + RENEW_MS;
          log.info("serving a new certificate");
        } catch (error) {
          log.warn("cannot use the new certificate; keeping the old one", {
            problem: messageOf(error),
          });
        }
      }
    },
  };
}
