/** Tests of the pure text functions, by tables: environment, mount paths, names, addresses, resources. */
import assert from "node:assert/strict";
import fc from "fast-check";
import type { Container, Pod } from "../../../platform/kube/kubernetes.ts";
import { createAddressBook } from "../../../standalone/kubelet/names/addresses.ts";
import { nameTable } from "../../../standalone/kubelet/names/cluster_names.ts";
import {
  buildCommand,
  buildEnvironment,
  expand,
} from "../../../standalone/kubelet/containers/environment.ts";
import {
  ConfigProblem,
  readField,
  readResource,
} from "../../../standalone/kubelet/containers/field_refs.ts";
import { mountedPaths, rewritePaths } from "../../../standalone/kubelet/volumes/mount_paths.ts";
import { serviceVariables } from "../../../standalone/kubelet/names/service_variables.ts";
import {
  type NameTable,
  replaceNames,
} from "../../../standalone/kubelet/names/name_replacement.ts";

const facts = {
  podIP: "127.64.0.1",
  hostIP: "192.0.2.1",
  nodeName: "n",
  allocatable: { cpu: 2, memory: 2 ** 30, "ephemeral-storage": 2 ** 40 },
};
const somePod: Pod = {
  metadata: {
    name: "p",
    namespace: "ns",
    uid: "u",
    labels: { app: "x", "a.b/c": "d" },
    annotations: { note: 'say "hi"' },
  },
  spec: { containers: [], serviceAccountName: "sa" },
};
const nothing = { configMap: () => undefined, secret: () => undefined };
const objects = {
  configMap: (name: string) =>
    name === "cm" ? { metadata: {}, data: { A: "1", B: "2" } } : undefined,
  secret: (name: string) => name === "s" ? { metadata: {}, data: { K: btoa("v") } } : undefined,
};
const container = (more: Partial<Container>): Container => ({ name: "main", ...more });

const EXPANSIONS: Record<string, [string, string]> = {
  "replaces a known variable": ["a $(X) b", "a 1 b"],
  "leaves an unknown one": ["$(NO)", "$(NO)"],
  "halves two dollars": ["$$(X)", "$(X)"],
  "leaves one dollar": ["cost $5 and $X", "cost $5 and $X"],
  "leaves what is not closed": ["$(X", "$(X"],
  "leaves what a shell is to run": ["a=$(id -$(X)) $(X)", "a=$(id -$(X)) 1"],
};
for (const [sentence, [text, want]] of Object.entries(EXPANSIONS)) {
  Deno.test(`\`expand()\` ${sentence}`, () => assert.equal(expand(text, { X: "1" }), want));
}

const SERVERS: Record<string, [host: string, port: string, url: string]> = {
  "https://127.0.0.1:6443": ["127.0.0.1", "6443", "tcp://127.0.0.1:6443"],
  "https://api.example": ["api.example", "443", "tcp://api.example:443"],
  "http://localhost/": ["localhost", "80", "tcp://localhost:80"],
  "https://[::1]:8443/k8s": ["::1", "8443", "tcp://[::1]:8443"],
};
for (const [server, [host, port, url]] of Object.entries(SERVERS)) {
  Deno.test(`\`serviceVariables()\` lead to ${server}`, () =>
    assert.deepEqual(serviceVariables(server), {
      KUBERNETES_SERVICE_HOST: host,
      KUBERNETES_SERVICE_PORT: port,
      KUBERNETES_SERVICE_PORT_HTTPS: port,
      KUBERNETES_PORT: url,
      [`KUBERNETES_PORT_${port}_TCP`]: url,
      [`KUBERNETES_PORT_${port}_TCP_PROTO`]: "tcp",
      [`KUBERNETES_PORT_${port}_TCP_PORT`]: port,
      [`KUBERNETES_PORT_${port}_TCP_ADDR`]: host,
    }));
}

Deno.test("`buildEnvironment()` expands variables of Services, and lets the container's own go before", () => {
  const env = buildEnvironment({
    pod: somePod,
    objects,
    facts,
    services: { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: "6443" },
    container: container({
      env: [
        { name: "KUBERNETES_SERVICE_PORT", value: "1" },
        { name: "API", value: "$(KUBERNETES_SERVICE_HOST):$(KUBERNETES_SERVICE_PORT)" },
      ],
    }),
  });
  assert.deepEqual(env, {
    KUBERNETES_SERVICE_HOST: "127.0.0.1",
    KUBERNETES_SERVICE_PORT: "1",
    API: "127.0.0.1:1",
  });
});

Deno.test("`readResource()` without a limit is what the node has", () => {
  const all = ["limits.cpu", "limits.memory", "limits.ephemeral-storage", "limits.acme.io/x"];
  const values = all.map((resource) => readResource(container({}), { resource }, facts));
  assert.deepEqual(values, ["2", String(2 ** 30), String(2 ** 40), "0"]);
});

Deno.test("`buildEnvironment()` follows references in order and expands what came before", () => {
  const env = buildEnvironment({
    pod: somePod,
    objects,
    facts,
    container: container({
      resources: { limits: { cpu: "1500m" } },
      envFrom: [{ prefix: "CM_", configMapRef: { name: "cm" } }, {
        secretRef: { name: "gone", optional: true },
      }],
      env: [
        { name: "CM_A", value: "over" },
        { name: "JOINED", value: "$(CM_A)-$(CM_B)-$(LATER)" },
        { name: "LATER", value: "x" },
        { name: "APP", valueFrom: { fieldRef: { fieldPath: "metadata.labels['a.b/c']" } } },
        { name: "IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
        { name: "SECRET", valueFrom: { secretKeyRef: { name: "s", key: "K" } } },
        { name: "NONE", valueFrom: { secretKeyRef: { name: "s", key: "no", optional: true } } },
        { name: "CPU", valueFrom: { resourceFieldRef: { resource: "limits.cpu" } } },
        {
          name: "MEM",
          valueFrom: { resourceFieldRef: { resource: "limits.memory", divisor: "1Mi" } },
        },
      ],
    }),
  });
  assert.deepEqual(env, {
    CM_A: "over",
    CM_B: "2",
    JOINED: "over-2-$(LATER)",
    LATER: "x",
    APP: "d",
    IP: "127.64.0.1",
    SECRET: "v",
    CPU: "2",
    MEM: "1024",
  });
});

const PROBLEMS: Record<string, [Partial<Container>, RegExp]> = {
  "a missing ConfigMap": [
    { envFrom: [{ configMapRef: { name: "x" } }] },
    /configmap "x" not found/,
  ],
  "a missing Secret": [
    { env: [{ name: "A", valueFrom: { secretKeyRef: { name: "x", key: "k" } } }] },
    /secret "x" not found/,
  ],
  "an unknown field": [
    { env: [{ name: "A", valueFrom: { fieldRef: { fieldPath: "spec.tolerations" } } }] },
    /spec\.tolerations/,
  ],
};
for (const [sentence, [more, want]] of Object.entries(PROBLEMS)) {
  Deno.test(`\`buildEnvironment()\` refuses ${sentence}`, () => {
    const context = { pod: somePod, objects: nothing, facts, container: container(more) };
    assert.throws(() => buildEnvironment(context), want);
  });
}

Deno.test("`buildCommand()` appends the arguments and expands both", () => {
  const words = buildCommand(container({ command: ["a", "$(X)"], args: ["$(X)y"] }), { X: "1" });
  assert.deepEqual(words, ["a", "1", "1y"]);
});

Deno.test("`readField()` writes all annotations as quoted lines", () => {
  assert.equal(readField(somePod, "metadata.annotations", facts), 'note="say \\"hi\\""');
});

const MOUNTS = mountedPaths([
  { name: "data", mountPath: "/data/" },
  { name: "deep", mountPath: "/data/deep" },
  { name: "conf", mountPath: "/etc/app.conf", subPath: "app.conf" },
], (name) => `/pods/u/volumes/${name}`);
const PATHS: Record<string, [string, string]> = {
  "a path that is all": ["/data", "/pods/u/volumes/data"],
  "a file below": ["/data/x.csv", "/pods/u/volumes/data/x.csv"],
  "the longest first": ["/data/deep/x", "/pods/u/volumes/deep/x"],
  "no longer name": ["/database /data-2 /data.csv", "/database /data-2 /data.csv"],
  "no inner component": ["/mnt/data/x ./data a/data", "/mnt/data/x ./data a/data"],
  "a list of paths": ["/bin:/data:/data/deep", "/bin:/pods/u/volumes/data:/pods/u/volumes/deep"],
  "a quoted path in a script": [
    "cat '/data/a' >/data/b",
    "cat '/pods/u/volumes/data/a' >/pods/u/volumes/data/b",
  ],
  "an option's value": ["--dir=/data", "--dir=/pods/u/volumes/data"],
  "a file URL": ["file:///data/x", "file:///pods/u/volumes/data/x"],
  "no host of a URL": ["s3://data/x http://h/data", "s3://data/x http://h/data"],
  "a subPath": ["/etc/app.conf", "/pods/u/volumes/conf/app.conf"],
};
for (const [sentence, [text, want]] of Object.entries(PATHS)) {
  Deno.test(`\`rewritePaths()\` rewrites ${sentence}`, () => {
    assert.equal(rewritePaths(text, MOUNTS), want);
  });
}

Deno.test("`rewritePaths()` leaves text without a mount path alone", () => {
  fc.assert(fc.property(fc.string(), (text) => {
    fc.pre(!text.includes("/data") && !text.includes("/etc/app.conf"));
    assert.equal(rewritePaths(text, MOUNTS), text);
  }));
});

const NAMES: NameTable = {
  namespace: "ns",
  subdomains: new Set(["job"]),
  podAddress: (hostname, subdomain) => `<${hostname}|${subdomain}>`,
  services: new Map([["web", "<web>"], ["job", "<first>"]]),
  podIPs: new Map([["100.64.0.9", "127.64.0.9"]]),
};
const NAME_CASES: Record<string, [string, string]> = {
  "a pod's short name": ["job-node-0-0.job", "<job-node-0-0|job>"],
  "a pod's longer names": [
    "a.job.ns a.job.ns.svc a.job.ns.svc.cluster.local",
    "<a|job> <a|job> <a|job>",
  ],
  "a pod's name with a port": ["a.job:29500,b.job:29500", "<a|job>:29500,<b|job>:29500"],
  "names in JSON": ['{"worker":["a.job:1"]}', '{"worker":["<a|job>:1"]}'],
  "names in URLs": [
    "tcp://a.job:1/x http://web/job http://web.ns.svc:80",
    "tcp://<a|job>:1/x http://<web>/job http://<web>:80",
  ],
  "a Service with a port": ["web:80", "<web>:80"],
  "a Service's qualified name": ["web.ns", "<web>"],
  "no bare word": ["job web", "job web"],
  "no other namespace": ["a.job.other web.other.svc", "a.job.other web.other.svc"],
  "no other subdomain": ["train.py a.b.job", "train.py a.b.job"],
  "no file of that name": ["/opt/a.job ./a.job", "/opt/a.job ./a.job"],
  "a podIP": ["100.64.0.9:1 100.64.0.99", "127.64.0.9:1 100.64.0.99"],
};
for (const [sentence, [text, want]] of Object.entries(NAME_CASES)) {
  Deno.test(`\`replaceNames()\` replaces ${sentence}`, () => {
    assert.equal(replaceNames(text, NAMES), want);
  });
}

Deno.test("`nameTable()` gives a peer's address before the peer exists", () => {
  const book = createAddressBook("salt");
  const service = { metadata: { name: "job", namespace: "ns" }, spec: { clusterIP: "None" } };
  const early = replaceNames("w-1.job", nameTable("ns", [], [service], book));
  const pod = {
    metadata: { name: "w-1-abcde", namespace: "ns" },
    spec: { containers: [], hostname: "w-1", subdomain: "job" },
  };
  const table = nameTable("ns", [pod], [service], book);
  const late = replaceNames("w-1.job", table);
  assert.equal(early, late);
  assert.equal([...table.podIPs.values()][0], early);
});

Deno.test("`createAddressBook()` gives no address twice, and the same to the same pod", () => {
  const book = createAddressBook("salt");
  const seen = new Set<string>();
  for (let at = 0; at < 5000; at++) {
    const identity = { namespace: "ns", hostname: `h${at}`, subdomain: "s" };
    const { loopback, podIP } = book.addressOf(identity);
    assert.match(loopback, /^127\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.\d+\.\d+$/);
    assert.equal(podIP.slice(3), loopback.slice(3));
    assert.deepEqual(book.addressOf(identity).loopback, loopback);
    seen.add(loopback);
  }
  assert.equal(seen.size, 5000);
  book.prune(({ hostname }) => hostname === "h1");
  assert.equal(book.identities().length, 1);
});

const RESOURCES: Record<string, { limit?: string; divisor?: string; want: string }> = {
  "gives a limit": { limit: "2Gi", want: "2147483648" },
  "divides": { limit: "2Gi", divisor: "1Mi", want: "2048" },
  "rounds up": { limit: "1.2", divisor: "500m", want: "3" },
  "takes a divisor of 0 for 1": { limit: "1e3", divisor: "0", want: "1000" },
  "gives the node's resources if there is no limit": { divisor: "1m", want: "2000" },
};
for (const [sentence, { limit, divisor, want }] of Object.entries(RESOURCES)) {
  Deno.test(`\`readResource()\` ${sentence}`, () => {
    const resources = limit === undefined ? undefined : { limits: { cpu: limit } };
    assert.equal(
      readResource(container({ resources }), { resource: "limits.cpu", divisor }, facts),
      want,
    );
  });
}
Deno.test("`readResource()` refuses text that is not a quantity", () => {
  const resources = { limits: { cpu: "2 GB" } };
  const read = () => readResource(container({ resources }), { resource: "limits.cpu" }, facts);
  assert.throws(read, ConfigProblem);
});
