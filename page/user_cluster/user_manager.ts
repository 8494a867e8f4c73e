/** The manager as one user reaches it: on this machine, or by a port-forward to a pod of it, with the user's own token. */
import type { Clock } from "../../platform/base/clock.ts";
import { withDeadline } from "../../platform/base/deadline.ts";
import {
  ConfigurationError,
  KubeError,
  messageOf,
  TransportError,
} from "../../platform/kube/errors.ts";
import type { Connection } from "../../platform/kube/connection/connection.ts";
import {
  type PodPort,
  type PortForward,
  startPortForward,
} from "../../platform/kube/connection/port_forward.ts";
import { createTransport } from "../../platform/kube/connection/transport.ts";
import type { ManagerClient } from "../../views/followed_curves.ts";
import { TOKEN_NOT_TAKEN } from "../server/proxied_response.ts";
import { createManagerAccess, type ManagerAccess } from "./manager_access.ts";
import { type FoundManager, type ManagerSearch, searchManager } from "./manager_search.ts";
import { createPoll } from "../../platform/base/poll.ts";

/** For one search, and for the command that gives a token, in milliseconds. */
const DEADLINE_MS = 15_000;

/** Between two searches, in milliseconds. */
const SEARCH_MS = 60_000;

/** A question whose answer is small. */
const PROBE = "/view/v1/jobs?limit=1";

const NOT_YET = "the manager is being looked for";
const NO_TOKEN =
  "the user of the kubeconfig has no token, but a client certificate or a password: " +
  "the manager takes only tokens, so there are no curves, and no job can be stopped with a reason";

/** Creates it; it is not looked for until it runs. */
export function createUserManager(
  options: ManagerSearch & {
    readonly connection: Connection;
    readonly clock: Clock;
    /** 0 to 1. Default `Math.random`. */
    readonly random?: () => number;
  },
) {
  const { connection, clock, random, namespace } = options;
  const transport = createTransport(connection);
  let found: FoundManager | undefined;
  let open: { readonly url: string; readonly access: ManagerAccess } | undefined;
  let forward: PortForward | undefined;
  /** Port-forwards that failed: each goes to the next pod. */
  let turn = 0;
  let missing: string | undefined = NOT_YET;
  /** What the newest call came to, where it failed. */
  let failure: string | undefined;

  const bounded = <T>(work: (signal: AbortSignal) => Promise<T>, signal?: AbortSignal) => {
    const onDeadline = () => new TransportError(`no answer within ${DEADLINE_MS / 1000} s`);
    const bounds = { clock, deadlineMs: DEADLINE_MS, onDeadline, ...(signal && { signal }) };
    return withDeadline(bounds, work);
  };

  function target(): PodPort | undefined {
    const { pods = [], port = 0 } = found ?? {};
    const pod = pods[turn % Math.max(1, pods.length)];
    return pod === undefined ? undefined : { namespace, pod, port };
  }

  function failed(why: string): void {
    failure = why;
    poll.wake();
  }

  function accessTo({ url, pods }: FoundManager): ManagerAccess {
    if (open?.url === url) return open.access;
    open?.access.close();
    if (pods.length > 0) {
      forward ??= startPortForward({
        transport,
        target,
        onFailure({ pod, port }, error) {
          turn++;
          failed(
            `port ${port} of the manager's pod ${pod} cannot be forwarded: ${messageOf(error)}`,
          );
        },
      });
    }
    const access = createManagerAccess({
      url,
      caBundle: () => found?.caPem ?? "",
      async token() {
        // Read each time: a command, or a file, gives another one when the last is about to expire.
        const token = await bounded((signal) => transport.bearerToken(signal));
        if (token === undefined) throw new ConfigurationError(NO_TOKEN);
        return token;
      },
      ...(pods.length > 0 && forward && { proxyUrl: forward.proxyUrl }),
    });
    open = { url, access };
    return access;
  }

  /** A call of the manager; what it comes to is remembered. */
  async function called<R>(call: (client: ManagerClient) => Promise<R>): Promise<R> {
    if (found === undefined) throw new TransportError(missing ?? NOT_YET);
    const before = turn;
    try {
      const response = await call(accessTo(found).client);
      failure = undefined;
      return response;
    } catch (error) {
      // A refusal is an answer.
      if (error instanceof KubeError) failure = error.code === 401 ? TOKEN_NOT_TAKEN : undefined;
      // A port-forward that fails has said why already.
      if (error instanceof TransportError && turn === before) {
        failed(`the manager cannot be reached: ${messageOf(error)}`);
      }
      throw error;
    }
  }

  const client: ManagerClient = {
    read: (path, options) => called((it) => it.read(path, options)),
    stream: (path, options) => called((it) => it.stream(path, options)),
  };

  /** Returns whether it was found, and answers. */
  async function find(signal: AbortSignal): Promise<boolean> {
    const hasToken = await bounded((it) => transport.bearerToken(it), signal) !== undefined;
    const answer = hasToken
      ? await bounded((it) => searchManager(options, it), signal)
      : { missing: NO_TOKEN };
    found = "url" in answer ? answer : undefined;
    missing = "url" in answer ? undefined : answer.missing;
    if (found === undefined) return false;
    // So it is known whether it answers this user, before anybody views a curve.
    await client.read(PROBE, { signal, deadlineMs: DEADLINE_MS }).catch((error) => {
      if (!(error instanceof KubeError)) throw error;
    });
    return failure === undefined;
  }

  const poll = createPoll({
    clock,
    random,
    everyMs: SEARCH_MS,
    ask: find,
    onFailure(error) {
      // What was found before may still be there.
      if (found === undefined) missing = `the manager cannot be found: ${messageOf(error)}`;
    },
  });

  return {
    /** Returns it as it is reached now; undefined while that is not known, or it does not take the user's token. */
    client: (): ManagerClient | undefined =>
      found === undefined || failure === TOKEN_NOT_TAKEN ? undefined : client,
    /** Resolves when it was looked for once. */
    polled: poll.polled,
    /** Returns what is missing to reach it, as sentences. */
    missing: (): readonly string[] => [missing ?? failure].filter((it) => it !== undefined),
    /** Looks for it until `signal` aborts; then nothing is left open. */
    async run(signal: AbortSignal): Promise<void> {
      await poll.run(signal);
      found = undefined;
      open?.access.close();
      await forward?.close();
      transport.close();
    },
  };
}
