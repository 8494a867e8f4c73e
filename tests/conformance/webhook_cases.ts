/** Admission webhooks of conformance cases: an HTTPS server, registered only for the case's namespace. */
import { makeCertificates } from "../standalone/apiserver/admission/webhook_server.ts";
import { until } from "../support/until.ts";
import type { Answer, Sandbox } from "./api.ts";
import { object } from "./objects.ts";

const GROUP = "admissionregistration.k8s.io/v1";

/** Answer of a webhook: the `response` without its uid, or a whole HTTP response. */
export type Respond = (request: Answer) => Answer | Response | Promise<Answer | Response>;

/** One webhook of a configuration. */
export interface Hook {
  readonly respond: Respond;
  /** More of its registration: failurePolicy, matchConditions, … */
  readonly more?: Record<string, unknown>;
}

/** The requests that came, by the hook's index. */
export type Calls = readonly Answer[][];

/** A JSON patch as a webhook answers it. */
export function patchResponse(operations: readonly unknown[]): Answer {
  return { allowed: true, patchType: "JSONPatch", patch: btoa(JSON.stringify(operations)) };
}

export const ALLOW: Respond = () => ({ allowed: true });

const shared: { certificates?: ReturnType<typeof makeCertificates> } = {};

/** A pattern of what the hooks see: config maps of the case's namespace. */
function registration(api: Sandbox, url: string, ca: string, name: string, more: Answer = {}) {
  return {
    name,
    clientConfig: { url, caBundle: btoa(ca) },
    rules: [{
      operations: ["CREATE", "UPDATE"],
      apiGroups: [""],
      apiVersions: ["v1"],
      resources: ["configmaps"],
    }],
    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": api.ns } },
    admissionReviewVersions: ["v1"],
    sideEffects: "None",
    timeoutSeconds: 10,
    ...more,
  };
}

function serve(respond: readonly Respond[], calls: Answer[][], key: string, cert: string) {
  return Deno.serve(
    { hostname: "127.0.0.1", port: 0, key, cert, onListen: () => {} },
    async (http) => {
      const index = Number(new URL(http.url).pathname.slice(1));
      const { request } = await http.json();
      // The namespace's own ConfigMap is written by a controller, at any time.
      const foreign = request.name === "kube-root-ca.crt";
      if (!foreign) calls[index]?.push(request);
      const answer = await (foreign ? ALLOW : respond[index] ?? ALLOW)(request);
      if (answer instanceof Response) return answer;
      const response = { uid: request.uid, ...answer };
      return Response.json({
        apiVersion: "admission.k8s.io/v1",
        kind: "AdmissionReview",
        response,
      });
    },
  );
}

/**
 * Registers webhooks, waits until the server calls them, and runs `work`. One more webhook, for
 * secrets, tells when that is.
 */
export async function withHooks(
  api: Sandbox,
  kind: "Mutating" | "Validating",
  hooks: readonly Hook[],
  work: (calls: Calls) => Promise<void>,
): Promise<void> {
  const { ca, certificate, key } = await (shared.certificates ??= makeCertificates());
  const calls: Answer[][] = [...hooks, undefined].map(() => []);
  const server = serve([...hooks.map(({ respond }) => respond), ALLOW], calls, key, certificate);
  const url = (index: number) => `https://127.0.0.1:${server.addr.port}/${index}`;
  const webhooks = hooks.map(({ more }, index) =>
    registration(api, url(index), ca, `h${index}.example.com`, more)
  );
  const secrets = [{
    operations: ["CREATE"],
    apiGroups: [""],
    apiVersions: ["v1"],
    resources: ["secrets"],
  }];
  const marker = registration(api, url(hooks.length), ca, "marker.example.com", { rules: secrets });
  const path = `/apis/${GROUP}/${kind.toLowerCase()}webhookconfigurations`;
  const body = object(GROUP, `${kind}WebhookConfiguration`, api.id, {
    webhooks: [...webhooks, marker],
  });
  try {
    await api.createCluster(path, body);
    await until("the webhooks to be heeded", async () => {
      await api.call("POST", "secrets?dryRun=All", { body: object("v1", "Secret", "marker") });
      return (calls.at(-1)?.length ?? 0) > 0;
    });
    await work(calls);
  } finally {
    await api.call("DELETE", `${path}/${api.id}`);
    await server.shutdown();
  }
}
