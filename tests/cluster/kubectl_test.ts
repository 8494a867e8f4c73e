/** Tests of kubectl on the real control plane, with logs from Milepost's kubelet through the API server. */
import assert from "node:assert/strict";
import { KINDS } from "../../crds/kinds.ts";
import { shellRuntime, trainJob } from "../support/standalone.ts";
import { until } from "../support/until.ts";
import { tryKubectl } from "./support/installation.ts";
import { shareCluster } from "./support/shared_cluster.ts";

const withSharedCluster = shareCluster();

/** Says that it began, waits for a file of the test, and says that it ends. */
const script = (gate: string) =>
  `echo started; echo to stderr >&2; while [ ! -e ${gate} ]; do sleep 0.05; done; echo ended`;

Deno.test("kubectl reads and follows logs, waits, and describes on a real control plane", async (t) => {
  await withSharedCluster(async ({ plane, kubectl }) => {
    const { client } = plane;
    const gate = `${plane.folder}/gate`;
    const runtime = shellRuntime("gated", script(gate));
    await client.create(KINDS.clusterTrainingRuntime, runtime);
    await client.create(KINDS.trainJob, trainJob("one", "gated"));
    const log = (...args: string[]) => kubectl(["logs", "job/one-node-0", ...args]);
    await until("the pod has begun", async () => /started/.test(await log()), {
      timeoutMs: 60_000,
    });

    await t.step("logs -f stays until the container ends", async () => {
      let seen = "";
      const following = new Deno.Command(plane.programs.kubectl ?? "kubectl", {
        args: ["logs", "-f", "job/one-node-0"],
        env: { KUBECONFIG: plane.kubeconfig, HOME: plane.folder },
        stdout: "piped",
        stderr: "null",
      }).spawn();
      const reading = (async () => {
        for await (const part of following.stdout.pipeThrough(new TextDecoderStream())) {
          seen += part;
        }
      })();
      await until("the first lines", () => seen.includes("started\n"));
      assert.doesNotMatch(seen, /ended/);
      await Deno.writeTextFile(gate, "");
      await reading;
      assert.equal((await following.status).code, 0);
      assert.equal(seen.split("\n").sort().join(" ").trim(), "ended started to stderr");
    });

    await t.step("wait --for=condition=Complete ends", async () => {
      await kubectl(["wait", "--for=condition=Complete", "trainjob/one", "--timeout=60s"]);
    });

    await t.step("logs cuts what it is asked to cut", async () => {
      assert.match(await log(), /^(started|to stderr)\n(started|to stderr)\nended\n$/);
      assert.equal(await log("--tail=1"), "ended\n");
      assert.match(await log("--tail=1", "--timestamps"), /^\d{4}-\d\d-\d\dT[\d:.]+Z ended\n$/);
      assert.equal((await log("--limit-bytes=5")).length, 5);
      assert.equal(await log("--since-time=2100-01-01T00:00:00Z"), "");
      assert.match(await log("--since=1h"), /started/);
    });

    await t.step("logs says why there are none", async () => {
      const previous = await tryKubectl(plane, ["logs", "job/one-node-0", "--previous"]);
      assert.notEqual(previous.code, 0);
      assert.match(previous.stderr, /previous terminated container "node" in pod .* not found/);
      const other = await tryKubectl(plane, ["logs", "job/one-node-0", "-c", "nobody"]);
      assert.match(other.stderr, /container nobody is not valid for pod/);
    });

    await t.step("get and describe show state, condition and events", async () => {
      assert.match(
        await kubectl(["get", "trainjobs"]),
        /^NAME +STATE +PROGRESS % +AGE\none +Complete/,
      );
      const text = await kubectl(["describe", "trainjob", "one"]);
      assert.match(text, /Type: +Complete/);
      assert.match(text, /Runtime Ref/);
      assert.match(await kubectl(["describe", "node", "node-a"]), /Ready +True/);
    });

    await t.step("explain and api-resources know the kinds", async () => {
      assert.match(await kubectl(["explain", "trainjob.spec"]), /runtimeRef/);
      assert.match(await kubectl(["api-resources"]), /clustertrainingruntimes/);
    });

    await t.step("a log at the node itself cannot be read without the right", async () => {
      const node = await client.get(KINDS.node, { name: "node-a" });
      const port = node.status?.daemonEndpoints?.kubeletEndpoint?.Port;
      const address = node.status?.addresses?.find(({ type }) => type === "InternalIP")?.address;
      const { items: [pod] } = await client.list(KINDS.pod, { namespace: "default" });
      const url = `https://${address}:${port}/containerLogs/default/${pod?.metadata?.name}/node`;
      const stranger = await plane.ca.client({ user: "stranger" });
      const keys: Record<string, Partial<Deno.CreateHttpClientOptions & Deno.TlsCertifiedKeyPem>> =
        { nobody: {}, stranger: stranger };
      const codes: Record<string, number> = {};
      for (const [who, key] of Object.entries(keys)) {
        using http = Deno.createHttpClient({ caCerts: [plane.ca.cert], ...key });
        const answer = await fetch(url, { client: http });
        await answer.body?.cancel();
        codes[who] = answer.status;
      }
      assert.deepEqual(codes, { nobody: 401, stranger: 403 });
    });
  });
});
