/** Tests of the merge of a standalone into a kubeconfig: what others have in it stays, bad files are refused. */
import assert from "node:assert/strict";
import { parse as parseYaml, parseAllDocuments } from "yaml";
import {
  type KubeconfigContent,
  standaloneIn,
  withoutStandalone,
  withStandalone,
} from "../../../standalone/kubeconfig/kubeconfig_merge.ts";

const own: KubeconfigContent = {
  server: "https://127.0.0.1:1234",
  caCertificate: "CA",
  token: "secret",
};
const later: KubeconfigContent = { ...own, server: "https://127.0.0.1:4321" };

const OTHERS = `# Mine.
apiVersion: v1
kind: Config
preferences: {}
clusters:
  - name: prod
    cluster: {server: "https://prod.example", certificate-authority-data: "MDA="}
users:
  - name: prod
    user:
      exec: {apiVersion: client.authentication.k8s.io/v1, command: login, args: ["0123", yes, 1e3, 12345678901234567890]}
      tokenFile:
contexts:
  - {name: prod, context: {cluster: prod, user: prod, namespace: "007"}}
current-context: prod
`;

/** The content as kubectl reads it, without the entries of a standalone. */
function othersIn(text: string): unknown {
  const value = parseYaml(text, { intAsBigInt: true }) as Record<string, unknown>;
  const rest = (list: string) =>
    (value[list] as { name: string }[] ?? []).filter(({ name }) => name !== "milepost");
  return { ...value, clusters: rest("clusters"), users: rest("users"), contexts: rest("contexts") };
}

Deno.test("`withStandalone()` writes a kubeconfig of one context where there was none", () => {
  for (const text of ["", "# nothing\n", "---\n"]) {
    assert.deepEqual(parseYaml(withStandalone(text, own)), {
      apiVersion: "v1",
      kind: "Config",
      clusters: [{
        name: "milepost",
        cluster: { server: own.server, "certificate-authority-data": btoa("CA") },
      }],
      users: [{ name: "milepost", user: { token: "secret" } }],
      contexts: [{
        name: "milepost",
        context: { cluster: "milepost", user: "milepost", namespace: "default" },
      }],
      "current-context": "milepost",
    });
  }
});

Deno.test("`withStandalone()` keeps every value of others, and `withoutStandalone()` takes out its own", () => {
  const merged = withStandalone(OTHERS, own);
  assert.deepEqual(othersIn(merged), {
    ...othersIn(OTHERS) as object,
    "current-context": "milepost",
  });
  assert.deepEqual(standaloneIn(merged), { server: own.server, caCertificate: "CA" });
  const left = withoutStandalone(merged, own) ?? "";
  const asBigInts = { intAsBigInt: true } as const;
  assert.deepEqual(parseYaml(left, asBigInts), parseYaml(OTHERS, asBigInts));
  assert.match(left, /^# Mine\.$/m);
  assert.match(left, /"0123", yes, 1e\+3, 12345678901234567890 \]/);
});

Deno.test("`withStandalone()` understands a kubeconfig in JSON", () => {
  const json = JSON.stringify(parseYaml(OTHERS));
  const merged = withStandalone(json, own);
  assert.deepEqual(othersIn(withoutStandalone(merged, own) ?? ""), othersIn(json));
});

Deno.test("`withStandalone()` replaces what a killed run left, and keeps the context before that", () => {
  const merged = withStandalone(withStandalone(OTHERS, own), later);
  assert.equal(standaloneIn(merged)?.server, later.server);
  const { users, clusters, contexts } = parseYaml(merged);
  assert.deepEqual([users.length, clusters.length, contexts.length], [2, 2, 2]);
  assert.equal(withoutStandalone(merged, own), undefined, "the entries are a later run's");
  assert.deepEqual(parseYaml(withoutStandalone(merged, later) ?? ""), parseYaml(OTHERS));
});

Deno.test("`withoutStandalone()` leaves a context that the user has chosen meanwhile", () => {
  const merged = withStandalone(OTHERS, own);
  const chosen = merged.replace("current-context: milepost", "current-context: other");
  assert.equal(parseYaml(withoutStandalone(chosen, own) ?? "")["current-context"], "other");
});

Deno.test("`withoutStandalone()` makes no context current that is gone", () => {
  const merged = withStandalone(OTHERS, own).replace("{name: prod, context", "{name: new, context")
    .replace("{ name: prod, context", "{ name: new, context");
  const left = parseYaml(withoutStandalone(merged, own) ?? "");
  assert.deepEqual([left["current-context"], left.contexts[0].name], ["", "new"]);
});

Deno.test("`withoutStandalone()` has nothing to change without its entries", () => {
  assert.equal(withoutStandalone(OTHERS, own), undefined);
  assert.equal(withoutStandalone(withStandalone(OTHERS, own), { ...own, token: "new" }), undefined);
});

const entry = (list: string, body: string) =>
  `kind: Config\n${list}: [{name: milepost, ${body}}]\n`;
const refused: Record<string, { text: string; want: RegExp }> = {
  "broken YAML": { text: "a: [", want: /^it is not YAML: / },
  "a key that stands twice": { text: "users: []\nusers: []\n", want: /^it is not YAML: .*unique/ },
  "several documents": { text: "kind: Config\n---\nkind: Config\n", want: /^it is not YAML: / },
  "plain text": { text: "hello\n", want: /^it is not a kubeconfig: the whole: / },
  "a list": { text: "- a\n", want: /^it is not a kubeconfig: the whole: / },
  "another kind of object": {
    text: "apiVersion: v1\nkind: Pod\n",
    want: /not a kubeconfig: kind: /,
  },
  "other settings": {
    text: "jobset: builtin\n",
    want: /not a kubeconfig: it has no "kind: Config"/,
  },
  "users that are not a list": { text: "users: {a: b}\n", want: /not a kubeconfig: users: / },
  "a user without a name": { text: "users: [{}]\n", want: /not a kubeconfig: users\.0\.name: / },
  "a list that is an alias": {
    text: "users: &a [{name: x}]\ncontexts: *a\n",
    want: /^contexts is an alias; write the list out$/,
  },
  "a cluster of that name elsewhere": {
    text: entry("clusters", `cluster: {server: "https://prod.example"}`),
    want: /^"milepost" in clusters is not of a standalone; rename or remove it/,
  },
  "a user of that name with a certificate": {
    text: entry("users", "user: {token: a, client-certificate-data: b}"),
    want: /^"milepost" in users is not of a standalone/,
  },
  "a context of that name for another cluster": {
    text: entry("contexts", "context: {cluster: prod, user: milepost}"),
    want: /^"milepost" in contexts is not of a standalone/,
  },
};
for (const [sentence, { text, want }] of Object.entries(refused)) {
  Deno.test(`\`withStandalone()\` refuses ${sentence}`, () => {
    assert.throws(() => withStandalone(text, own), ({ message }: Error) => want.test(message));
  });
}

Deno.test("`withStandalone()` writes one document without errors", () => {
  for (const document of parseAllDocuments(withStandalone(OTHERS, own))) {
    assert.deepEqual("errors" in document ? document.errors : [], []);
  }
});
