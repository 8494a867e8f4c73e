/** Connections to a server under test. */

/** A server under test. */
export interface Target {
  readonly url: string;
  /** PEM of the CA that signed the server's certificate. */
  readonly caCertificate: string;
  /** The administrator's bearer token, or its client certificate. */
  readonly token?: string;
  readonly certificate?: { readonly cert: string; readonly key: string };
}

/** The connections to a server: one for the administrator, one for everybody else. */
export class Connections implements Disposable {
  readonly admin: Deno.HttpClient;
  readonly others: Deno.HttpClient;

  constructor(readonly target: Target) {
    const caCerts = [target.caCertificate];
    const { certificate } = target;
    this.others = Deno.createHttpClient({ caCerts });
    this.admin = Deno.createHttpClient({ caCerts, ...certificate });
  }

  [Symbol.dispose]() {
    this.admin.close();
    this.others.close();
  }
}
