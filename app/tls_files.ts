/** Files of TLS that flags name: certificate, key and CAs, which are read again while they are served. */
import type { Logger } from "@logtape/logtape";
import type { Clock } from "../platform/base/clock.ts";
import { ConfigurationError, messageOf } from "../platform/kube/errors.ts";

/** Between two reads of the files, in milliseconds. */
const READ_MS = 15_000;

/** Returns the text of a file that a flag names. Throws `ConfigurationError` if it cannot be read. */
export function readFlagFile(flag: string, file: string): string {
  try {
    return Deno.readTextFileSync(file);
  } catch (cause) {
    throw new ConfigurationError(`${flag} ${file} cannot be read: ${messageOf(cause)}`, { cause });
  }
}

/**
 * Returns the CAs of all files, PEM: during a rotation there is one more, so that a missing one is no error. Throws
 * `ConfigurationError` if none can be read.
 */
export function readAuthorities(flag: string, files: string): string {
  const texts: string[] = [];
  const problems: unknown[] = [];
  for (const file of files.split(",")) {
    try {
      texts.push(readFlagFile(flag, file.trim()));
    } catch (error) {
      problems.push(error);
    }
  }
  if (texts.length === 0) throw problems[0];
  return texts.join("\n");
}

/** The names of the files of a certificate and its key. */
export interface CertificateFiles {
  readonly tlsCert: string;
  readonly tlsKey: string;
}

/** Returns both names; undefined if none is given. Throws `ConfigurationError` if only one is. */
export function certificateFiles(
  { tlsCert, tlsKey }: { readonly [Name in keyof CertificateFiles]?: string | undefined },
): CertificateFiles | undefined {
  if (tlsCert !== undefined && tlsKey !== undefined) return { tlsCert, tlsKey };
  if (tlsCert === undefined && tlsKey === undefined) return undefined;
  throw new ConfigurationError("--tls-cert and --tls-key must be given together");
}

/** Reads both, PEM. Throws `ConfigurationError` if one cannot be read. */
export const readCertificate = ({ tlsCert, tlsKey }: CertificateFiles) => ({
  cert: readFlagFile("--tls-cert", tlsCert),
  key: readFlagFile("--tls-key", tlsKey),
});

/**
 * Reads periodically, and calls `use` with what is another than the one before, until `signal` aborts. Of what cannot be
 * read or used is logged that the old one is kept.
 */
export async function followTls<T extends object>(
  first: T,
  read: () => T | undefined | Promise<T | undefined>,
  use: (tls: T) => void,
  { clock, log, signal }: {
    readonly clock: Clock;
    readonly log: Logger;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  let current = JSON.stringify(first);
  for (;;) {
    await clock.sleep(READ_MS, signal);
    if (signal.aborted) return;
    try {
      const next = await read();
      const text = JSON.stringify(next);
      if (next === undefined || text === current) continue;
      use(next);
      current = text;
      log.info("serving a new certificate");
    } catch (error) {
      const problem = messageOf(error);
      log.warn("cannot use the new certificate; keeping the old one", { problem });
    }
  }
}
