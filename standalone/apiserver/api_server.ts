/** Embedded Kubernetes API server: starts and stops the store, the controllers and the HTTPS listener. */
import { after, systemClock } from "../../platform/base/clock.ts";
import { type AccessOptions, createAccess } from "./access/access.ts";
import { createAdmission } from "./admission/admission.ts";
import { createHttpsCalls } from "./admission/https_calls.ts";
import { Registry } from "./kinds/registry.ts";
import { bootstrap } from "./lifecycle/bootstrap.ts";
import { startEventExpiry } from "./lifecycle/event_expiry.ts";
import { startGarbageCollector } from "./lifecycle/garbage_collector.ts";
import { startContentControllers } from "./lifecycle/namespace_and_crd_controllers.ts";
import { servingCertificate } from "./lifecycle/serving_certificate.ts";
import type { Context } from "./operations/context.ts";
import type { FindGonePod, PodLogs } from "./operations/pod_logs.ts";
import { handle } from "./requests/handler.ts";
import { openStore } from "./storage/sqlite_store.ts";

/** Options of {@link startApiServer}. */
export interface ApiServerOptions
  extends Pick<AccessOptions, "signingKey">, Partial<Pick<AccessOptions, "users" | "now">> {
  /** Folder of the database, created with mode 0700; without it the database is in memory. */
  readonly dataDir?: string;
  /** 0 picks a free port. */
  readonly port: number;
  /** Address to listen on. */
  readonly hostname: "127.0.0.1";
  /** Source of pod logs; without it, requests for logs fail with 501. */
  readonly podLogs?: PodLogs;
  /** Finds pods whose logs outlive them. Default: none. */
  readonly gonePod?: FindGonePod;
  /** Says to people where a pod is on this machine, by its UID. */
  readonly placeOfPod?: (uid: string) => string;
  /** Number of changes that are kept for watches that start in the past. */
  readonly historyLimit?: number;
}

/** A running API server. */
export type ApiServer = Awaited<ReturnType<typeof startApiServer>>;

/** How long requests in flight may take when the server closes. */
const CLOSE_TIMEOUT_MS = 2000;
const ADMIN_TOKEN_SETTING = "admin-token";

function randomToken(): string {
  return crypto.getRandomValues(new Uint8Array(32)).toHex();
}

/** Starts listening. Throws an error that names the address if it is in use. */
function listen(
  options: Deno.ServeTcpOptions & Deno.TlsCertifiedKeyPem,
  handler: (request: Request) => Promise<Response>,
): Deno.HttpServer<Deno.NetAddr> {
  try {
    return Deno.serve(options, handler);
  } catch (cause) {
    if (!(cause instanceof Deno.errors.AddrInUse)) throw cause;
    const address = `${options.hostname}:${options.port}`;
    throw new Error(`Cannot listen on ${address}: it is in use; choose another port`, { cause });
  }
}

/** Waits for requests in flight and aborts those that take too long. */
async function shutDown(server: Deno.HttpServer, cut: AbortController): Promise<void> {
  const cancel = after(systemClock, CLOSE_TIMEOUT_MS, () => cut.abort());
  await server.shutdown();
  cancel();
}

/**
 * Starts the API server. Throws an error that says what to do if the port is in use or the data
 * folder cannot be used.
 */
export async function startApiServer(options: ApiServerOptions) {
  const { dataDir, historyLimit, hostname, port, now = systemClock.now } = options;
  const store = openStore({ dataDir, historyLimit });
  try {
    const certificate = await servingCertificate(store.database, { now: now(), hostname });
    const adminToken = store.database.setting(ADMIN_TOKEN_SETTING) ?? randomToken();
    store.database.setSetting(ADMIN_TOKEN_SETTING, adminToken);
    const registry = new Registry(store);
    const closing = new AbortController();
    const address = { url: "" };
    const access = await createAccess({
      store,
      now,
      signingKey: options.signingKey,
      serverUrl: () => address.url,
      users: [
        { token: adminToken, user: { name: "admin", groups: ["system:masters"] } },
        ...options.users ?? [],
      ],
    });
    const calls = createHttpsCalls();
    const context: Context = {
      store,
      registry,
      access,
      admit: createAdmission({ store, authorizer: access.authorizer, call: calls.call }),
      now,
      podLogs: options.podLogs,
      gonePod: options.gonePod,
      placeOfPod: options.placeOfPod,
      caCertificate: certificate.ca,
      closing: closing.signal,
    };
    const cut = new AbortController();
    const { cert, key } = certificate;
    const server = listen(
      { port, hostname, cert, key, signal: cut.signal, onListen: () => {} },
      (request) => handle(context, request),
    );
    address.url = `https://${hostname}:${server.addr.port}`;
    const stops = [
      startContentControllers(context),
      startGarbageCollector(context),
      startEventExpiry(context),
    ];
    let closed: Promise<void> | undefined;
    const close = async () => {
      closing.abort();
      await Promise.all(stops.map((stop) => stop()));
      await shutDown(server, cut);
      calls.close();
    };
    await bootstrap(context).catch(async (error) => {
      await close();
      throw error;
    });
    return {
      /** `https://127.0.0.1:PORT`. */
      url: address.url,
      /** PEM of the CA that clients trust. */
      caCertificate: certificate.ca,
      /** Bearer token of the administrator (group `system:masters`); the same after a restart. */
      adminToken,
      /** Ends watches, waits for requests in flight and closes the database. Idempotent. */
      close: (): Promise<void> => closed ??= close().then(() => store.close()),
    };
  } catch (error) {
    store.close();
    throw error;
  }
}
