/** Search for the manager: the replicas that are ready behind its Service, and the CAs of their certificate. */
import { Buffer } from "node:buffer";
import { z } from "zod";
import { KINDS } from "../../crds/kinds.ts";
import { CA_KEY, ENDPOINTS_OF_LABEL, MANAGER, STATUS_PORT_NAME } from "../../crds/names.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { ignoring, isAbsentOrForbidden } from "../../platform/kube/errors.ts";
import { mayDo } from "../../platform/kube/self_reviews.ts";

/** Where the manager is. */
export interface FoundManager {
  /** Base URL of its status port, by the name in its certificate. */
  readonly url: string;
  readonly port: number;
  /** The pods to which the port is forwarded; none if it is one of this machine. */
  readonly pods: readonly string[];
  /** PEM. */
  readonly caPem: string;
}

/** What is searched for. */
export interface ManagerSearch {
  readonly client: Pick<KubeClient, "get" | "list" | "create">;
  /** Of its Service. */
  readonly namespace: string;
  readonly service: string;
}

const LOOPBACK = "127.0.0.1";
/** EndpointSlices that are read. */
const MOST = 100;

const sliceSchema = z.object({
  endpoints: z.array(z.object({
    addresses: z.array(z.string()),
    conditions: z.object({ ready: z.boolean().nullish() }).nullish(),
    targetRef: z.object({ kind: z.string().optional(), name: z.string().optional() }).nullish(),
  })).nullish(),
  ports: z.array(z.object({ name: z.string().nullish(), port: z.number().nullish() })).nullish(),
});

/** The endpoints of a slice that are ready. */
function endpointsOf(slice: unknown) {
  const { data } = sliceSchema.safeParse(slice);
  const port = data?.ports?.find(({ name }) => name === STATUS_PORT_NAME)?.port ?? undefined;
  if (port === undefined) return [];
  return (data?.endpoints ?? []).filter(({ conditions }) => conditions?.ready !== false)
    .map(({ addresses: [address = ""], targetRef }) => ({
      address,
      pod: targetRef?.kind === "Pod" ? targetRef.name : undefined,
      port,
    }));
}

const webhooksSchema = z.object({
  webhooks: z.array(z.object({ clientConfig: z.object({ caBundle: z.string().optional() }) })),
});

/**
 * Returns the CAs as the manager publishes them, or has them in the configuration of its webhook. A namespace of jobs is not asked:
 * who writes there would get the user's token.
 */
async function authority(
  { client, namespace }: ManagerSearch,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { mutatingWebhookConfiguration: kind, configMap } = KINDS;
  const published = await client
    .get(configMap, { namespace, name: MANAGER.publicConfigMap }, { signal })
    .catch(ignoring(isAbsentOrForbidden));
  const caPem = published?.data?.[CA_KEY] ?? "";
  if (caPem !== "") return caPem;
  const found = await client.get(kind, { name: MANAGER.mutatingConfiguration }, { signal })
    .catch(ignoring(isAbsentOrForbidden));
  const [webhook] = webhooksSchema.safeParse(found).data?.webhooks ?? [];
  const { caBundle = "" } = webhook?.clientConfig ?? {};
  return caBundle === "" ? undefined : Buffer.from(caBundle, "base64").toString("utf8");
}

/** Returns why ports of pods cannot be forwarded; undefined if they can. */
async function forwardProblem(
  { client, namespace }: ManagerSearch,
  signal: AbortSignal,
): Promise<string | undefined> {
  // A WebSocket is a get; newer API servers ask for create, too.
  const verbs = ["get", "create"];
  const action = { kind: KINDS.pod, subresource: "portforward", namespace };
  const answers = await Promise.all(
    verbs.map((verb) => mayDo(client, { verb, ...action }, signal)),
  );
  const lacking = verbs.filter((_, index) => !answers[index]);
  if (lacking.length === 0) return undefined;
  return `the user has no right to ${lacking.join(" and ")} pods/portforward in ${namespace}, ` +
    "by which the manager is reached";
}

/** Returns the manager, or what is missing to reach it. Throws what the client throws. */
export async function searchManager(
  search: ManagerSearch,
  signal: AbortSignal,
): Promise<FoundManager | { readonly missing: string }> {
  const { client, namespace, service } = search;
  const labelSelector = `${ENDPOINTS_OF_LABEL}=${service}`;
  const slices = await client
    .list(KINDS.endpointSlice, { namespace, labelSelector, limit: MOST, signal })
    .catch(ignoring(isAbsentOrForbidden));
  if (slices === undefined) {
    return {
      missing:
        `the user may not list endpointslices in ${namespace}, by which the manager is found`,
    };
  }
  const endpoints = slices.items.flatMap(endpointsOf);
  // A cluster's API server refuses such an endpoint; that of a standalone runs on this machine.
  const own = endpoints.find(({ address, pod }) => address === LOOPBACK && pod === undefined);
  const { port } = own ?? endpoints[0] ?? {};
  const pods = own === undefined
    ? endpoints.filter((it) => it.port === port).flatMap(({ pod }) => pod ?? [])
    : [];
  if (port === undefined || (own === undefined && pods.length === 0)) {
    return {
      missing: `no manager is found: the Service ${service} in ${namespace} has no replica that ` +
        "is ready (--manager-namespace and --manager-service say where it is)",
    };
  }
  const problem = own === undefined ? await forwardProblem(search, signal) : undefined;
  if (problem !== undefined) return { missing: problem };
  const caPem = await authority(search, signal);
  if (caPem === undefined) {
    return {
      missing: "the CA of the manager's certificate cannot be read: it is not in the ConfigMap " +
        `${namespace}/${MANAGER.publicConfigMap}, where a manager of this version puts it, and the user may not ` +
        `get the mutatingwebhookconfiguration ${MANAGER.mutatingConfiguration}`,
    };
  }
  const host = own === undefined ? `${service}.${namespace}.svc` : LOOPBACK;
  return { url: `https://${host}:${port}`, port, pods, caPem };
}
