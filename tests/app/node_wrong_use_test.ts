/** Tests of `milepost node` with wrong arguments: one clear line and exit code 2, before it does anything. */
import assert from "node:assert/strict";
import { withStandalone } from "../../standalone/kubeconfig/kubeconfig_merge.ts";
import { hostAddress } from "../../standalone/kubelet/machine.ts";
import { createAuthority } from "../cluster/control_plane/certificates.ts";
import { milepost } from "../support/milepost_process.ts";

interface Place {
  readonly folder: string;
  /** A port that is taken at the node's address. */
  readonly taken: number;
}

const cases: Record<string, { args: (place: Place) => string[]; want: RegExp }> = {
  "an invalid port": {
    args: () => ["--port", "http"],
    want: /--port: must be a port .*, not "http"/,
  },
  "a port that is taken": {
    args: ({ taken }) => [`--port=${taken}`],
    want: /--port: port \d+ is taken; choose another/,
  },
  "a certificate without its key": {
    args: ({ folder }) => [`--tls-cert=${folder}/a.crt`],
    want: /--tls-cert and --tls-key must be given together/,
  },
  "a certificate that is not there": {
    args: ({ folder }) => [`--tls-cert=${folder}/none`, `--tls-key=${folder}/a.key`],
    want: /--tls-cert \S+none cannot be read/,
  },
  "a certificate with another's key": {
    args: ({ folder }) => [`--tls-cert=${folder}/a.crt`, `--tls-key=${folder}/b.key`],
    want:
      /certificates of the log endpoint cannot be used: the private key does not belong to the certificate/,
  },
  "an invalid client CA": {
    args: ({ folder }) => [`--client-ca=${folder}/kubeconfig`],
    want: /certificates of the log endpoint cannot be used/,
  },
};

Deno.test("milepost node says in one line what is wrong", async (t) => {
  const folder = await Deno.makeTempDir({ prefix: "milepost-" });
  using taken = Deno.listen({ hostname: hostAddress(), port: 0 });
  try {
    const authority = await createAuthority("nodes");
    for (const name of ["a", "b"]) {
      const { cert, key } = await authority.server(name, ["127.0.0.1"]);
      await Deno.writeTextFile(`${folder}/${name}.crt`, cert);
      await Deno.writeTextFile(`${folder}/${name}.key`, key);
    }
    const server = "https://127.0.0.1:1";
    const yaml = withStandalone("", { server, caCertificate: authority.cert, token: "none" });
    await Deno.writeTextFile(`${folder}/kubeconfig`, yaml);
    const place = { folder, taken: taken.addr.port };
    for (const [sentence, { args, want }] of Object.entries(cases)) {
      await t.step(`with ${sentence}`, async () => {
        const common = ["node", `--kubeconfig=${folder}/kubeconfig`, `--data-dir=${folder}/data`];
        const { code, stderr } = await milepost([...common, ...args(place)]);
        assert.equal(code, 2, stderr);
        assert.match(stderr, want);
        assert.equal(stderr.trimEnd().split("\n").length, 1, stderr);
      });
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
