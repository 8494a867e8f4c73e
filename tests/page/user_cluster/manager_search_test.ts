/** Tests of the search for the manager: where it is, by which right, and what is missing. */
import assert from "node:assert/strict";
import { searchManager } from "../../../page/user_cluster/manager_search.ts";
import { childNames, ENDPOINTS_OF_LABEL, LABELS, MANAGER } from "../../../crds/names.ts";
import { at } from "../../../platform/base/json.ts";
import { type AskedOf, type MadeUp, reviewed, withAnswers } from "../../support/api_answers.ts";

const NAMESPACE = "there";
const SLICES = `/apis/discovery.k8s.io/v1/namespaces/${NAMESPACE}/endpointslices`;
const WEBHOOK = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/" +
  MANAGER.mutatingConfiguration;
const PUBLIC = `/api/v1/namespaces/${NAMESPACE}/configmaps/${MANAGER.publicConfigMap}`;
const REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
const configMaps = (namespace: string) => `/api/v1/namespaces/${namespace}/configmaps`;

const endpoint = (pod: string | undefined, address: string, ready?: boolean | null) => ({
  addresses: [address],
  ...(ready !== undefined && { conditions: { ready } }),
  ...(pod !== undefined && { targetRef: { kind: "Pod", name: pod } }),
});
const slice = (endpoints: unknown, ports: unknown = [{ name: "status", port: 8082 }]) => ({
  metadata: { name: "a", namespace: NAMESPACE },
  endpoints,
  ports,
});
const listOf = (...items: unknown[]) => ({ metadata: { resourceVersion: "1" }, items });
const webhook = (ca: string) => ({
  metadata: { name: MANAGER.mutatingConfiguration },
  webhooks: [{ name: "a", clientConfig: { caBundle: btoa(ca) } }],
});
const ofJob = {
  metadata: {
    name: childNames.tlsConfig("job"),
    namespace: "b",
    labels: { [LABELS.trainJobName]: "job" },
  },
  data: { "ca.crt": "of a job" },
};

const [OWN, POD] = [endpoint(undefined, "127.0.0.1", true), endpoint("m-0", "10.0.0.1", true)];
const NAME = `https://the-service.${NAMESPACE}.svc:8082`;

/** A cluster in which all is there; a case says what is otherwise. */
const WHOLE: Readonly<Record<string, MadeUp>> = {
  [SLICES]: listOf(slice([POD])),
  [REVIEWS]: reviewed(true),
  [WEBHOOK]: webhook("the CA"),
};

interface Case {
  readonly otherwise?: Readonly<Record<string, MadeUp>>;
  readonly want: { url?: string; pods?: readonly string[]; caPem?: string } | RegExp;
}

const CASES: Readonly<Record<string, Case>> = {
  "a replica": { want: { url: NAME, pods: ["m-0"], caPem: "the CA" } },
  "a standalone, without a right to forward": {
    otherwise: { [SLICES]: listOf(slice([OWN])), [REVIEWS]: reviewed(false) },
    want: { url: "https://127.0.0.1:8082", pods: [] },
  },
  "a pod that says it is at loopback": {
    otherwise: { [SLICES]: listOf(slice([endpoint("m-0", "127.0.0.1")])) },
    want: { url: NAME, pods: ["m-0"] },
  },
  "replicas of which some are ready": {
    otherwise: {
      [SLICES]: listOf(
        slice([endpoint("m-1", "10.0.0.2", false), endpoint("m-2", "10.0.0.3", null)]),
        slice([endpoint("m-3", "10.0.0.4"), endpoint(undefined, "10.0.0.5", true)]),
      ),
    },
    want: { url: NAME, pods: ["m-2", "m-3"] },
  },
  "replicas on another port beside": {
    otherwise: {
      [SLICES]: listOf(
        slice([POD]),
        slice([endpoint("m-9", "10.0.0.9")], [{ name: "status", port: 9 }]),
      ),
    },
    want: { url: NAME, pods: ["m-0"] },
  },
  "no slice": { otherwise: { [SLICES]: listOf() }, want: /no manager is found: .* the-service/ },
  "no replica that is ready": {
    otherwise: { [SLICES]: listOf(slice([endpoint("m-0", "10.0.0.1", false)])) },
    want: /no manager is found/,
  },
  "no status port": {
    otherwise: { [SLICES]: listOf(slice([POD], [{ name: "webhook", port: 443 }])) },
    want: /no manager is found/,
  },
  "an address that is no pod's": {
    otherwise: { [SLICES]: listOf(slice([endpoint(undefined, "10.0.0.1")])) },
    want: /no manager is found/,
  },
  "slices of nonsense": {
    otherwise: { [SLICES]: listOf(slice("no"), slice([{ addresses: 3 }]), slice(null, null)) },
    want: /no manager is found/,
  },
  "slices that are not for this user": {
    otherwise: { [SLICES]: 403 },
    want: /may not list endpointslices in there/,
  },
  "no right to forward": {
    otherwise: { [REVIEWS]: reviewed(false) },
    want: /no right to get and create pods\/portforward in there/,
  },
  "the CA that the manager publishes, before that of the webhook": {
    otherwise: { [PUBLIC]: { metadata: { name: "p" }, data: { "ca.crt": "published" } } },
    want: { caPem: "published" },
  },
  "the CA of a job, which tenants write": {
    otherwise: {
      [WEBHOOK]: 403,
      [configMaps("a")]: listOf(ofJob),
      [configMaps("b")]: listOf(ofJob),
    },
    want: /the CA .* cannot be read: .* there\/kubeflow-trainer-public/,
  },
  "no CA": {
    otherwise: { [WEBHOOK]: 404, [PUBLIC]: { metadata: { name: "p" }, data: {} } },
    want: /the CA .* cannot be read: .* there\/kubeflow-trainer-public/,
  },
};

/** What the search comes to, and what it asked. */
async function search(answer: (it: AskedOf) => MadeUp) {
  let found: unknown;
  const all: AskedOf[] = [];
  await withAnswers(answer, async (client, asked) => {
    const options = { client, namespace: NAMESPACE, service: "the-service" };
    const { signal } = new AbortController();
    found = await searchManager(options, signal);
    all.push(...asked);
  });
  return { found, asked: all };
}

for (const [sentence, { otherwise = {}, want }] of Object.entries(CASES)) {
  Deno.test(`searchManager() of ${sentence}`, async () => {
    const all = { ...WHOLE, ...otherwise };
    const { found, asked } = await search(({ path }) => all[path] ?? 404);
    if (want instanceof RegExp) assert.match(String(at(found, "missing")), want);
    else {
      for (const [name, value] of Object.entries(want)) assert.deepEqual(at(found, name), value);
    }
    assert.equal(asked[0]?.query.get("labelSelector"), `${ENDPOINTS_OF_LABEL}=the-service`);
    assert.ok(asked.every(({ path, method }) => method === "GET" || path === REVIEWS));
  });
}

Deno.test("searchManager() names the one verb that is lacking", async () => {
  const { found } = await search(({ path, body }) => {
    if (path !== REVIEWS) return WHOLE[path] ?? 404;
    return reviewed(at(body, "spec", "resourceAttributes", "verb") === "get");
  });
  assert.match(String(at(found, "missing")), /no right to create pods\/portforward/);
});

Deno.test("searchManager() throws where the API server cannot say", () =>
  assert.rejects(search(({ path }) => path === SLICES ? 500 : WHOLE[path] ?? 404)));
