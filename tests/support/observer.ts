/** A reader of observations: a service account with a token for them, and the right to get TrainJobs. */
import { KINDS } from "../../crds/kinds.ts";
import { type JobKind, observationPath, observationsPath } from "../../crds/job_kind.ts";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import { OBSERVATION_AUDIENCE } from "../../crds/names.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { openEvents } from "./event_client.ts";
import { requestToken } from "./standalone.ts";

/** Source of observations: the status endpoint of a Milepost, and its CA. */
export interface ObservationEndpoint {
  /** Base URL. */
  readonly status: string;
  caBundle(): string;
}

/** An answer. */
export interface ObservationAnswer {
  readonly status: number;
  readonly body: unknown;
  readonly headers: Headers;
}

/** One who reads. */
export interface Observer {
  readonly token: string;
  read(
    at: ObservationEndpoint,
    job: string,
    how?: { readonly query?: string; readonly method?: string; readonly token?: string },
  ): Promise<ObservationAnswer>;
  watch(at: ObservationEndpoint, job: string, query?: string): ReturnType<typeof openEvents>;
  /** Opens a stream of many jobs. */
  watchMany(at: ObservationEndpoint, body: object): ReturnType<typeof openEvents>;
}

const RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";

async function post(client: KubeClient, path: string, body: unknown): Promise<void> {
  await client.read(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

/** Gives the service account rights on jobs of a kind in its namespace. */
async function allow(
  client: KubeClient,
  name: string,
  jobs: JobKind,
  verbs: readonly string[],
): Promise<void> {
  const apiVersion = "rbac.authorization.k8s.io/v1";
  const group = "rbac.authorization.k8s.io";
  await post(client, `${RBAC}/roles`, {
    apiVersion,
    kind: "Role",
    metadata: { name },
    rules: [{ apiGroups: [jobs.group], resources: [jobs.plural], verbs }],
  });
  await post(client, `${RBAC}/rolebindings`, {
    apiVersion,
    kind: "RoleBinding",
    metadata: { name },
    roleRef: { apiGroup: group, kind: "Role", name },
    subjects: [{ kind: "ServiceAccount", name, namespace: "default" }],
  });
}

/** Reads with a token, from any replica. */
export async function readObservation(
  at: ObservationEndpoint,
  path: string,
  { token, method = "GET" }: { readonly token?: string | undefined; readonly method?: string } = {},
): Promise<ObservationAnswer> {
  using http = Deno.createHttpClient({ caCerts: [at.caBundle()] });
  const answer = await fetch(at.status + path, {
    method,
    client: http,
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(60_000),
  });
  const text = await answer.text();
  const body: unknown = text === "" ? undefined : JSON.parse(text);
  return { status: answer.status, body, headers: answer.headers };
}

/** Makes one, in the namespace `default`; `verbs` are its rights on jobs. */
export async function observer(
  client: KubeClient,
  name = "observer",
  kind: JobKind = TRAINJOB,
  verbs: readonly string[] = ["get"],
): Promise<Observer> {
  const account = { namespace: "default", name };
  const metadata = account;
  await client.create(KINDS.serviceAccount, { apiVersion: "v1", kind: "ServiceAccount", metadata });
  await allow(client, name, kind, verbs);
  const token = await requestToken(client, account, { audience: OBSERVATION_AUDIENCE });
  return {
    token,
    read: (at, job, how = {}) =>
      readObservation(at, observationPath(kind, "default", job) + (how.query ?? ""), {
        token,
        ...how,
      }),
    watch: (at, job, query = "") =>
      openEvents(`${at.status}${observationPath(kind, "default", job)}?watch=true${query}`, {
        token,
        ca: at.caBundle(),
      }),
    watchMany: (at, body) =>
      openEvents(at.status + observationsPath(kind, "default"), {
        token,
        ca: at.caBundle(),
        body: JSON.stringify(body),
      }),
  };
}
