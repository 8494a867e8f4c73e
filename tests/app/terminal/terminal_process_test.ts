/** Tests of how commands of the terminal are run: where their jobs are, in which look, in pipes, and how they end. */
import assert from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { V1_RESOURCES } from "../../../crds/v1/v1_resources.ts";
import { milepost, milepostCommand } from "../../support/milepost_process.ts";
import {
  shareStandalone,
  shellRuntime,
  trainJob,
  withStandalone,
} from "../../support/standalone.ts";
import { until } from "../../support/until.ts";
import { type AtTerminal, atTerminal } from "../../support/terminal.ts";

const IDLE = shellRuntime("idle", "exec sleep 600");
const standalone = shareStandalone(async (client) => {
  await client.create(KINDS.clusterTrainingRuntime, IDLE);
  await client.create(KINDS.namespace, { metadata: { name: "apart" } });
  for (const namespace of ["default", "apart"]) {
    await client.create(KINDS.trainJob, trainJob(`in-${namespace}`, "idle", { namespace }));
  }
  const container = { name: "pytorch", image: "none", command: ["sleep", "600"] };
  const Master = { replicas: 1, template: { spec: { containers: [container] } } };
  const { PyTorchJob } = V1_RESOURCES;
  await client.create(
    PyTorchJob,
    PyTorchJob.parse({
      apiVersion: "kubeflow.org/v1",
      kind: "PyTorchJob",
      metadata: { name: "in-default", namespace: "default" },
      spec: { pytorchReplicaSpecs: { Master } },
    }),
  );
});
const env = () => ({ KUBECONFIG: standalone().kubeconfig });
const GIVEN_BACK = "\x1b[?25h\x1b[?1049l";

Deno.test("a job is of the namespace and the kubeconfig that flags name, as with kubectl", async () => {
  const place = ["-n", "apart", "--kubeconfig", standalone().kubeconfig];
  const elsewhere = { env: { KUBECONFIG: "/nowhere" } };
  const { code, stdout, stderr } = await milepost(["get", "in-apart", ...place], elsewhere);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^TrainJob apart\/in-apart /);
});

Deno.test("get without a name lists the jobs of the namespaces that are named, or says that there are none", async () => {
  const lines = async (...args: string[]) => {
    const { code, stdout, stderr } = await milepost(["get", ...args], { env: env() });
    assert.equal(code, 0, stderr);
    return [stdout, stderr] as const;
  };
  const [own] = await lines("-n", "apart");
  assert.match(own, /^NAME +STATE +DONE +ETA +AGE +METRICS\nin-apart +\w+ +\d+s\n$/);
  const [all] = await lines("-A");
  assert.match(all, /^NAMESPACE +NAME +KIND +STATE .*\n(\w+ +in-\w+ +\w+ .*\n){3}$/);
  assert.deepEqual(await lines("-n", "kube-system"), [
    "",
    "milepost: no jobs in kube-system; -A lists all namespaces; " +
    "`milepost example trainjob` prints one to copy\n",
  ]);
  const { jobs, missing } = JSON.parse((await lines("-n", "apart", "--json"))[0]);
  assert.deepEqual([jobs.length, jobs[0].name, missing], [1, "in-apart", []]);
});

Deno.test("the list says what a job waits for, as the job itself does, and so do its logs", async () => {
  const client = standalone().client;
  await client.create(KINDS.namespace, { metadata: { name: "waits" } });
  const resourcesPerNode = { limits: { "nvidia.com/gpu": "64" } };
  const job = trainJob("large", "idle", {
    namespace: "waits",
    spec: { trainer: { resourcesPerNode } },
  });
  await client.create(KINDS.trainJob, job);
  const says = /waits for 64 nvidia\.com\/gpu; this machine has \d+$/m;
  for (const args of [["large"], [], ["-A"]]) {
    await until(`get ${args.join(" ")}`, async () => {
      const { stdout } = await milepost(["get", "-n", "waits", ...args], { env: env() });
      return says.test(stdout);
    });
  }
  const logs = await milepost(["logs", "-n", "waits", "large"], { env: env() });
  assert.equal(logs.code, 2);
  assert.match(logs.stderr, /^milepost: large has no pods with a log: waits for 64 nvidia/);
  await client.delete(KINDS.trainJob, { namespace: "waits", name: "large" });
});

Deno.test("at a terminal the list has colours for states, and is cut to its width", async () => {
  const command = `env -u NO_COLOR ${milepostCommand("get", "-A")}`;
  await using screen = atTerminal(command, env());
  assert.equal(await screen.ended(), 0);
  assert.ok(screen.text().includes("\x1b[32mRunning\x1b[0m"), screen.text());
  // Deno itself tells a terminal of what takes it long, and erases that.
  // deno-lint-ignore no-control-regex
  const plain = screen.text().replaceAll(/\x1b\[\d*[A-Za-z]/g, "").split("\r\n");
  assert.ok(plain.every((line) => line.length <= 100), screen.text());
});

Deno.test("of two jobs with one name the kind chooses", async () => {
  const both = await milepost(["get", "in-default"], { env: env() });
  assert.deepEqual([both.code, both.stderr], [
    2,
    "milepost: several jobs have this name: name one as pytorchjob/in-default, trainjob/in-default\n",
  ]);
  const one = await milepost(["get", "pytorchjob/in-default"], { env: env() });
  assert.match(one.stdout, /^PyTorchJob default\/in-default /, one.stderr);
});

Deno.test("at a terminal there are colours, unless NO_COLOR is set", async () => {
  const command = milepostCommand("get", "trainjob/in-default");
  for (
    const [colours, shown] of [[true, `env -u NO_COLOR ${command}`], [false, command]] as const
  ) {
    await using screen = atTerminal(shown, env());
    assert.equal(await screen.ended(), 0);
    assert.equal(screen.text().includes("\x1b[32mRunning\x1b[0m"), colours, screen.text());
    // deno-lint-ignore no-control-regex
    assert.equal(/\x1b\[[\d;]*m/.test(screen.text()), colours);
  }
});

Deno.test("top --ascii draws with ASCII alone", async () => {
  await using screen = atTerminal(milepostCommand("top", "--ascii", "-A"), env());
  await screen.shows(/apart\/in-apart/);
  await screen.type("q");
  assert.equal(await screen.ended(), 0);
  // deno-lint-ignore no-control-regex
  assert.match(screen.text(), /^[\x00-\x7f]*$/);
});

Deno.test("in a pipe top prints lines, and SIGTERM ends it", async () => {
  const [program = "", ...args] = milepostCommand("top", "-n", "apart").split(" ");
  const output = { stdout: "piped", stderr: "inherit" } as const;
  const child = new Deno.Command(program, { args, env: env(), ...output }).spawn();
  let text = "";
  for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) {
    text += part;
    if (text.endsWith("\n")) child.kill("SIGTERM");
  }
  assert.equal((await child.status).code, 0);
  assert.match(text, /^(apart\/in-apart {2}\w+\n)+$/);
});

/** Runs `work` with a top that also says its process. */
async function withTop(work: (screen: AtTerminal, pid: number) => Promise<void>): Promise<void> {
  const file = await Deno.makeTempFile();
  try {
    const command = `sh -c 'echo $$ > ${file}; exec ${milepostCommand("top", "-n", "apart")}'`;
    await using screen = atTerminal(command, env());
    await screen.shows(/in-apart/);
    await work(screen, Number(await Deno.readTextFile(file)));
  } finally {
    await Deno.remove(file);
  }
}

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  Deno.test(`${signal} has top give the screen back`, () =>
    withTop(async (screen, pid) => {
      Deno.kill(pid, signal);
      assert.equal(await screen.ended(), 0);
      assert.ok(screen.text().endsWith(GIVEN_BACK), screen.text());
    }));
}

async function keptFile(path: string) {
  const copy = await Deno.makeTempFile();
  await Deno.copyFile(path, copy);
  return { path: copy, [Symbol.asyncDispose]: () => Deno.remove(copy) };
}

Deno.test("when the API server has gone, top shows what it knows and says so, and get says so in a line", () =>
  withStandalone(async ({ client, kubeconfig, stop }) => {
    // That of a standalone goes with it.
    await using kept = await keptFile(kubeconfig);
    const KUBECONFIG = kept.path;
    await client.create(KINDS.clusterTrainingRuntime, IDLE);
    await client.create(KINDS.trainJob, trainJob("left", "idle"));
    await using screen = atTerminal(milepostCommand("top"), { KUBECONFIG });
    await screen.shows(/left +Running/);
    await stop();
    await screen.shows(/Not shown.*: the (manager|API server) cannot be reached/);
    await screen.type("\r");
    await screen.shows(/The job cannot be read: /);
    await screen.type("\x1b");
    await screen.shows(/> left +Running/);
    await screen.type("q");
    assert.equal(await screen.ended(), 0);
    const { code, stdout, stderr } = await milepost(["get", "left"], { env: { KUBECONFIG } });
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(stderr, /^milepost: cannot reach the cluster of the context milepost: .*\n$/);
  }));

Deno.test("get and stop name a manager that does not take the user's token", () =>
  withStandalone(async ({ client, kubeconfig: KUBECONFIG }) => {
    await client.create(KINDS.clusterTrainingRuntime, IDLE);
    await client.create(KINDS.trainJob, trainJob("seen", "idle"));
    const why = "the manager does not accept this user's token: " +
      "it takes tokens of the API server with --read-with-api-tokens alone";
    const options = { env: { KUBECONFIG } };
    const got = await milepost(["get", "seen", "--json"], options);
    assert.deepEqual(JSON.parse(got.stdout).missing, [why]);
    const stopped = await milepost(["stop", "seen"], options);
    assert.deepEqual([stopped.code, stopped.stderr], [1, `milepost: ${why}\n`]);
  }, { settings: { readWithApiTokens: "false" } }));
