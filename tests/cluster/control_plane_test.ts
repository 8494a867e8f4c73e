/** Tests of the control plane of these tests: it keeps its data through restarts, and leaves nothing. */
import assert from "node:assert/strict";
import { dirname } from "node:path";
import { KINDS } from "../../crds/kinds.ts";
import { createClient } from "../../platform/kube/connection/connected_client.ts";
import { isForbidden } from "../../platform/kube/errors.ts";
import { loadKubeconfig } from "../../platform/kube/connection/kubeconfig.ts";
import { processesThatMention } from "../support/processes.ts";
import { until } from "../support/until.ts";
import { makeFolder } from "./control_plane/folder.ts";
import { withControlPlane } from "./control_plane/control_plane.ts";

const main = new URL("./control_plane/main.ts", import.meta.url).pathname;

async function isGone(folder: string): Promise<void> {
  assert.deepEqual([...(await processesThatMention(folder)).values()], []);
  await assert.rejects(Deno.stat(folder), Deno.errors.NotFound);
}

Deno.test("withControlPlane() restarts in place, authorizes and audits, and ends when its work fails", async () => {
  let folder = "";
  const failing = withControlPlane(async (plane) => {
    folder = plane.folder;
    const { client, apiServer, etcd } = plane;
    const map = { metadata: { namespace: "default", name: "kept" }, data: { a: "1" } };
    await client.create(KINDS.configMap, map);
    await apiServer.stop("SIGKILL");
    await etcd.stop("SIGKILL");
    await etcd.start();
    await apiServer.start();
    assert.deepEqual(
      (await client.get(KINDS.configMap, { namespace: "default", name: "kept" })).data,
      { a: "1" },
    );

    const stranger = await plane.kubeconfigFor("stranger", { user: "stranger" });
    const theirs = createClient({ connection: loadKubeconfig(stranger) });
    await assert.rejects(theirs.list(KINDS.secret, { namespace: "default" }), isForbidden);
    const refused = (await plane.auditLog()).filter(({ user }) => user.username === "stranger");
    assert.deepEqual(
      refused.map(({ verb, objectRef, responseStatus }) => [
        verb,
        objectRef?.resource,
        responseStatus?.code,
      ]),
      [["list", "secrets", 403]],
    );
    throw new Error("as a test that fails");
  }, { audit: true, scheduler: false });
  await assert.rejects(failing, /as a test that fails/);
  await isGone(folder);
});

Deno.test("withControlPlane() reports the output of a program that did not start", async () => {
  const flags = { apiServer: ["--no-such-flag"] };
  const failing = withControlPlane(() => Promise.resolve(), { flags });
  await assert.rejects(failing, /kube-apiserver did not start:[^]*unknown flag: --no-such-flag/);
});

/** `deno task cluster`, and the folder that it made. */
async function startCluster() {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", main],
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { kubeconfig } = JSON.parse((await lines.read()).value ?? "");
  const client = createClient({ connection: loadKubeconfig(kubeconfig) });
  assert.ok((await client.list(KINDS.namespace)).items.length > 0);
  return {
    folder: dirname(kubeconfig),
    async end(signal: Deno.Signal) {
      child.kill(signal);
      await Promise.all([child.status, lines.cancel()]);
    },
  };
}

Deno.test("deno task cluster leaves nothing on SIGTERM", async () => {
  const { folder, end } = await startCluster();
  await end("SIGTERM");
  await isGone(folder);
});

Deno.test("the programs of a control plane end with a test that is killed, its folder with the next start", async () => {
  const { folder, end } = await startCluster();
  await end("SIGKILL");
  await until("its programs are gone", async () => (await processesThatMention(folder)).size === 0);
  await Deno.remove(await makeFolder(), { recursive: true });
  await isGone(folder);
});
