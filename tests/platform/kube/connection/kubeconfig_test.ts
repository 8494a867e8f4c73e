/** Tests of kubeconfig files. */
import assert from "node:assert/strict";
import { connectionTo, loadKubeconfig } from "../../../../platform/kube/connection/kubeconfig.ts";
import { ConfigurationError } from "../../../../platform/kube/errors.ts";
import { makeCertificates } from "../certificates.ts";

interface Parts {
  cluster?: unknown;
  user?: unknown;
  [field: string]: unknown;
}

/** A kubeconfig that works, with some parts replaced. */
function kubeconfig({ cluster, user, ...fields }: Parts = {}): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "x",
    contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
    clusters: [{ name: "c", cluster: cluster ?? { server: "https://127.0.0.1:6443" } }],
    users: [{ name: "u", user: user ?? { token: "t" } }],
    ...fields,
  });
}

async function inFolder(test: (folder: string) => Promise<void> | void): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const BROKEN: Record<string, { text: string | undefined; says: RegExp }> = {
  "is missing": { text: undefined, says: /cannot read the kubeconfig .*ENOENT/ },
  "is not YAML": { text: "a: [b", says: /is not YAML/ },
  "is a text": { text: "hello", says: /is invalid: the whole/ },
  "is empty": { text: "", says: /is invalid: the whole/ },
  "has clusters that are no list": { text: "clusters: {}", says: /is invalid: clusters/ },
  "has a cluster without a server": {
    text: kubeconfig({ cluster: {} }),
    says: /is invalid: clusters\.0\.cluster\.server/,
  },
  "names no context": {
    text: kubeconfig({ "current-context": "" }),
    says: /names no current-context/,
  },
  "names an unknown context": {
    text: kubeconfig({ "current-context": "y" }),
    says: /has no context y/,
  },
  "names an unknown cluster": { text: kubeconfig({ clusters: [] }), says: /has no cluster c/ },
  "names an unknown user": { text: kubeconfig({ users: [] }), says: /has no user u/ },
  "has a server that is no URL": {
    text: kubeconfig({ cluster: { server: "nowhere" } }),
    says: /cluster c: server nowhere/,
  },
  "has a server of another scheme": {
    text: kubeconfig({ cluster: { server: "ftp://nowhere" } }),
    says: /must begin with https:/,
  },
  "has an authority that is no certificate": {
    text: kubeconfig({
      cluster: { server: "https://a", "certificate-authority-data": btoa("nonsense") },
    }),
    says: /the certificate authority is not PEM/,
  },
  "has an authority that is not base64": {
    text: kubeconfig({ cluster: { server: "https://a", "certificate-authority-data": "%%%" } }),
    says: /cluster c: certificate-authority/,
  },
  "names an authority's file that is missing": {
    text: kubeconfig({ cluster: { server: "https://a", "certificate-authority": "nowhere.crt" } }),
    says: /cannot read .*certificate-authority .*nowhere\.crt/,
  },
  "has a certificate without a key": {
    text: kubeconfig({ user: { "client-certificate-data": btoa("nonsense") } }),
    says: /must be given together/,
  },
  "names a token file that is missing": {
    text: kubeconfig({ user: { tokenFile: "nowhere" } }),
    says: /cannot read .*the token file .*nowhere/,
  },
};

for (const [what, { text, says }] of Object.entries(BROKEN)) {
  Deno.test(`\`loadKubeconfig()\` says in one line that the file ${what}`, () =>
    inFolder(async (folder) => {
      const file = `${folder}/config`;
      if (text !== undefined) await Deno.writeTextFile(file, text);
      assert.throws(() => loadKubeconfig(file), (error) => {
        assert.ok(error instanceof ConfigurationError);
        assert.match(error.message, says);
        assert.doesNotMatch(error.message, /\n/);
        return true;
      });
    }));
}

Deno.test("`loadKubeconfig()` reads YAML and takes relative paths from the file's folder", () =>
  inFolder(async (folder) => {
    const { caPem } = await makeCertificates();
    await Deno.writeTextFile(`${folder}/ca.crt`, caPem);
    const cluster = { server: "https://127.0.0.1:6443/", "certificate-authority": "ca.crt" };
    await Deno.writeTextFile(`${folder}/config`, `# a comment\n${kubeconfig({ cluster })}`);
    const connection = loadKubeconfig(`${folder}/config`);
    assert.equal(connection.cluster.server, "https://127.0.0.1:6443");
    assert.equal(connection.cluster.caFile, `${folder}/ca.crt`);
    assert.equal(connection.user?.token, "t");
  }));

Deno.test("`loadKubeconfig()` merges the files of KUBECONFIG: the first value wins", () =>
  inFolder(async (folder) => {
    const first = kubeconfig({ users: [], cluster: { server: "https://first" } });
    const second = kubeconfig({ cluster: { server: "https://second" }, "current-context": "y" });
    await Deno.writeTextFile(`${folder}/1`, first);
    await Deno.writeTextFile(`${folder}/2`, second);
    const env = (name: string) => name === "KUBECONFIG" ? `${folder}/1:${folder}/2` : undefined;
    const connection = loadKubeconfig(undefined, env);
    assert.equal(connection.cluster.server, "https://first");
    assert.equal(connection.user?.token, "t");
  }));

Deno.test("`loadKubeconfig()` looks into the home folder last and says when there is nothing", () =>
  inFolder(async (folder) => {
    const env = (name: string) => name === "HOME" ? folder : undefined;
    assert.throws(() => loadKubeconfig(undefined, env), /no kubeconfig found: give --kubeconfig/);
    await Deno.mkdir(`${folder}/.kube`);
    await Deno.writeTextFile(`${folder}/.kube/config`, kubeconfig());
    assert.equal(loadKubeconfig(undefined, env).user?.token, "t");
  }));

Deno.test("`connectionTo()` checks what it is given", () => {
  assert.throws(() => connectionTo({ server: "https://a", caPem: "nonsense" }), ConfigurationError);
  const connection = connectionTo({ server: "https://a/", token: "t" });
  assert.equal(connection.cluster.server, "https://a");
});
