/** Public keys and issuer of the API server, renewed in the background. */
import { importJWK, type JWK } from "jose";
import { getLogger } from "@logtape/logtape";
import { z } from "zod";
import type { Clock } from "../../base/clock.ts";
import { repeat } from "../../base/repeat.ts";
import { createSleeper } from "../../base/sleeper.ts";
import type { KubeClient } from "../../kube/client.ts";
import { messageOf } from "../../kube/errors.ts";

const DISCOVERY_PATH = "/.well-known/openid-configuration";
const KEYS_PATH = "/openid/v1/jwks";
/** Keys beyond this number are not read. */
const MAX_KEYS = 64;
const FETCH_DEADLINE_MS = 10_000;
const RETRY = { firstMs: 500, longestMs: 30_000 } as const;
/** Time between two reads, and the least one after an unknown key, in milliseconds. */
const [REFRESH_EVERY_MS, MIN_INTERVAL_MS] = [3_600_000, 10_000] as const;

/** Signatures that an API server may use: asymmetric ones only. */
const ALGORITHMS = ["RS256", "RS384", "RS512", "ES256", "ES384", "ES512"] as const;
type Algorithm = typeof ALGORITHMS[number];

/** Returns whether an API server could sign with it: never `none`, nor with a shared secret. */
export function isSignatureAlgorithm(algorithm: string): boolean {
  return ALGORITHMS.some((it) => it === algorithm);
}

const discoverySchema = z.object({ issuer: z.string().min(1).max(2048) });
const keySchema = z.looseObject({
  kty: z.enum(["RSA", "EC"]),
  kid: z.string().min(1).max(1024),
  alg: z.enum(ALGORITHMS).optional(),
  use: z.literal("sig").optional(),
  crv: z.string().optional(),
});
const keySetSchema = z.object({ keys: z.array(z.unknown()) });

/** A key of the API server, with the one algorithm that it may be used with. */
export interface VerificationKey {
  readonly algorithm: Algorithm;
  readonly key: CryptoKey;
}

/** Keys and issuer that tokens are checked against. */
export interface IssuerKeys {
  readonly issuer: string;
  /** By key id. */
  readonly keys: ReadonlyMap<string, VerificationKey>;
}

/** Options of {@link createJwksSource}. */
export interface JwksOptions {
  readonly client: Pick<KubeClient, "read">;
  readonly clock: Clock;
  /** 0 to 1. Default `Math.random`. */
  readonly random?: () => number;
  /** Called after each read: `jwks_refreshes_total{result}`. */
  readonly onRefresh?: (result: "ok" | "error") => void;
}

function algorithmOf(key: z.infer<typeof keySchema>): Algorithm | undefined {
  if (key.alg !== undefined) return key.alg;
  if (key.kty === "RSA") return "RS256";
  const byCurve: Record<string, Algorithm> = {
    "P-256": "ES256",
    "P-384": "ES384",
    "P-521": "ES512",
  };
  return key.crv === undefined ? undefined : byCurve[key.crv];
}

async function importPublicKey(jwk: JWK, algorithm: Algorithm): Promise<CryptoKey | undefined> {
  try {
    const key = await importJWK(jwk, algorithm);
    return key instanceof CryptoKey && key.type === "public" ? key : undefined;
  } catch {
    // One key that is not understood must not take the others away.
    return undefined;
  }
}

/** Reads a JWKS document. Keys that cannot verify a signature here are left out. */
export async function readKeySet(document: unknown): Promise<Map<string, VerificationKey>> {
  const keys = new Map<string, VerificationKey>();
  for (const item of keySetSchema.parse(document).keys.slice(0, MAX_KEYS)) {
    const parsed = keySchema.safeParse(item);
    const algorithm = parsed.success ? algorithmOf(parsed.data) : undefined;
    if (!parsed.success || algorithm === undefined) continue;
    const key = await importPublicKey({ ...parsed.data }, algorithm);
    if (key !== undefined) keys.set(parsed.data.kid, { algorithm, key });
  }
  return keys;
}

/** Creates the source of the newest {@link IssuerKeys}, which reads nothing before `run` or `refresh`. */
export function createJwksSource(options: JwksOptions) {
  const { client, clock, random = Math.random, onRefresh } = options;
  const log = getLogger(["milepost", "http"]);
  let current: IssuerKeys | undefined;
  let currentText = "";
  const sleeper = createSleeper(clock);

  async function read(path: string, signal: AbortSignal | undefined): Promise<unknown> {
    const { text } = await client.read(path, { signal, deadlineMs: FETCH_DEADLINE_MS });
    return JSON.parse(text);
  }

  /** Reads keys and issuer now. Throws if the API server does not return them. */
  async function refresh(signal?: AbortSignal): Promise<void> {
    const { issuer } = discoverySchema.parse(await read(DISCOVERY_PATH, signal));
    const document = await read(KEYS_PATH, signal);
    const text = JSON.stringify([issuer, document]);
    if (text === currentText) return;
    const keys = await readKeySet(document);
    if (keys.size === 0) {
      throw new Error(`GET ${KEYS_PATH} returned no key that can verify signatures`);
    }
    current = { issuer, keys };
    currentText = text;
  }

  return {
    /** Undefined until they were read once; the same object as long as nothing changed. */
    current: () => current,
    /** A token named a key that is not known: read the keys again soon (at most every 10 s). */
    noteUnknownKey: sleeper.wake,
    refresh,
    /** Reads at once, hourly and when a key is unknown, until the signal aborts. Never throws. */
    run: (signal: AbortSignal): Promise<void> =>
      repeat({
        async pass() {
          await refresh(signal);
          onRefresh?.("ok");
          // Unknown keys make it read them sooner, but not at once.
          await clock.sleep(MIN_INTERVAL_MS, signal);
          return REFRESH_EVERY_MS - MIN_INTERVAL_MS;
        },
        sleeper,
        backoff: RETRY,
        clock,
        random,
        onFailure(error, failures) {
          onRefresh?.("error");
          if (failures > 1) return;
          const problem = messageOf(error);
          log.warn("cannot read the keys of the API server; retrying", { problem });
        },
      }, signal),
  };
}
