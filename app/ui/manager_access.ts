/** Access to a manager's status port with a viewer's own token, whatever CA signs its certificate by then. */
import { type ClosableClient, createClient, type KubeClient } from "../../kube/client.ts";
import { connectionTo } from "../../kube/kubeconfig.ts";

/** The manager as a viewer reaches it. */
export interface ManagerAccess {
  readonly client: Pick<KubeClient, "raw">;
  close(): void;
}

/** Options of {@link createManagerAccess}. */
export interface ManagerAccessOptions {
  /** Base URL of the status port. */
  readonly url: string;
  readonly token: string;
  /** Returns the CAs that may have signed its certificate now, PEM. */
  readonly caBundle: () => string;
}

/** Creates it. */
export function createManagerAccess(
  { url, token, caBundle }: ManagerAccessOptions,
): ManagerAccess {
  let open: { readonly caPem: string; readonly client: ClosableClient } | undefined;

  /** Calls in hand keep the client that they began with. */
  function clientNow(): ClosableClient {
    const caPem = caBundle();
    if (open?.caPem === caPem) return open.client;
    open?.client.close();
    const client = createClient({ connection: connectionTo({ server: url, caPem, token }) });
    open = { caPem, client };
    return client;
  }

  return {
    client: { raw: (path, init) => clientNow().raw(path, init) },
    close: () => open?.client.close(),
  };
}
