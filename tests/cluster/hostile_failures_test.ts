/** Test of hostile last words on a real control plane, from the process of a pod to everything that shows them. */
import assert from "node:assert/strict";
import { failureOf } from "../../crds/job_state.ts";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import { FAILURE_LIMITS } from "../../crds/job_failure.ts";
import { KINDS } from "../../crds/kinds.ts";
import { loadKubeconfig } from "../../platform/kube/connection/kubeconfig.ts";
import { SOURCES } from "../python/interpreter.ts";
import { notebookEnvironment } from "../python/notebook.ts";
import { run } from "../support/command.ts";
import { milepost, milepostCommand } from "../support/milepost_process.ts";
import { shellRuntime, trainJob } from "../support/standalone.ts";
import { atTerminal } from "../support/terminal.ts";
import { until } from "../support/until.ts";
import { withUserPage } from "../support/user_page.ts";
import type { Cluster } from "./support/installation.ts";
import { shareCluster } from "./support/shared_cluster.ts";

const withSharedCluster = shareCluster();
const python = await notebookEnvironment();

/** Sequences for terminals, one of which is none, two bytes that are no UTF-8, C1, an end of a script, and a turned text. */
const SAYS = String
  .raw`\033[38;5;200m\033]0;owned\007\033(0\377\303\302\2332J</script><img src=x>\342\200\256evil`;
/** What is left of it: without sequences, and with what is not seen spelled out. */
const SPELLED = "\\u001b(0\ufffd\ufffd\\u009b2J</script><img src=x>\\u202eevil";
const LONG = "head -c 10240 /dev/zero | tr '\\0' x";

/** Of each job its program, and its headline. */
const JOBS: Readonly<Record<string, readonly [program: string, headline: string]>> = {
  log: [
    `${LONG}; printf '\\n${SAYS}\\nRuntimeError: ${SAYS}\\n'; exit 1`,
    `node-0 exited 1: RuntimeError: ${SPELLED}`,
  ],
  word: [
    `{ ${LONG}; printf '\\n${SAYS}\\nValueError: ${SAYS}\\n'; } > /dev/termination-log; exit 3`,
    `node-0 exited 3: ValueError: ${SPELLED}`,
  ],
  endless: [`${LONG}; exit 4`, "node-0 exited 4: x"],
};
/** A job whose user writes what it shows. */
const SAID = { headline: "said \u001b[2J\u202e</script>", message: "one\n\u001b]0;owned\u0007" };

// deno-lint-ignore no-control-regex
const STEERS = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]/;

/** What people read of a job; each answers with its text. */
const READERS: Readonly<Record<string, (cluster: Cluster, job: string) => Promise<string>>> = {
  async get({ plane }, job) {
    const env = { KUBECONFIG: plane.kubeconfig };
    const [one, list] = await Promise.all([
      milepost(["get", job], { env }),
      milepost(["get"], { env }),
    ]);
    assert.equal(one.code + list.code, 0, one.stderr + list.stderr);
    return one.stdout + list.stdout;
  },
  async top({ plane }, job) {
    await using screen = atTerminal(milepostCommand("top"), { KUBECONFIG: plane.kubeconfig });
    await screen.shows(/endless/);
    await screen.type(`/${job}\r\r`);
    await screen.shows(new RegExp(`TrainJob default/${job}`));
    await screen.type("\x03");
    assert.equal(await screen.ended(), 0);
    // What it moves and colours with is its own.
    assert.doesNotMatch(screen.text(), /38;5;200m/);
    // deno-lint-ignore no-control-regex
    return screen.text().replaceAll(/\x1b(\[[\d;?]*[A-Za-z]|[78=>])|\r/g, "\n");
  },
  page: ({ plane }, job) =>
    new Promise((told, failed) =>
      withUserPage(loadKubeconfig(plane.kubeconfig), async (page) => {
        const path = `/objects/${TRAINJOB.id}/default/${job}`;
        const { lastWords } = JSON.parse((await page.get(path)).text);
        const { rows } = JSON.parse((await page.get("/view/v1/jobs")).text);
        told(`${rows.find(({ name }: { name: string }) => name === job).message}\n${lastWords}`);
      }).catch(failed)
    ),
  async Python({ plane }, job) {
    if ("missing" in python) return "";
    const program = `import milepost; job = milepost.job("${job}"); ` +
      "print(job.failure, repr(job), job._repr_html_(), sep=chr(10))";
    const { code, stdout, stderr } = await run(`${python.bin}/python`, {
      args: ["-c", program],
      env: { KUBECONFIG: plane.kubeconfig, PYTHONPATH: SOURCES, PYTHONDONTWRITEBYTECODE: "1" },
      timeoutMs: 60_000,
    });
    assert.equal(code, 0, stderr);
    assert.ok(!stdout.split("\n").slice(2).join().includes("</script>"), "HTML is escaped");
    return stdout;
  },
};
/** These show an object as it is. */
const kubectlSays = async ({ kubectl }: Cluster, job: string) =>
  await kubectl([
    "get",
    "trainjob",
    job,
    "-o",
    "jsonpath={.status.failure.headline}{'\\n'}{.status.failure.message}",
  ]) +
  await kubectl(["describe", "trainjob", job]) + await kubectl(["get", "events"]);

Deno.test("hostile last words are spelled out, and bounded, wherever they are read", async (t) => {
  await withSharedCluster(async (cluster) => {
    const { client } = cluster.plane;
    for (const [name, [program]] of Object.entries(JOBS)) {
      await client.create(KINDS.clusterTrainingRuntime, shellRuntime(name, program));
      await client.create(KINDS.trainJob, trainJob(name, name));
    }
    const time = new Date().toISOString();
    // Nobody here writes its status.
    const spec = { managedBy: "kueue.x-k8s.io/multikueue" };
    await client.create(KINDS.trainJob, trainJob("said", "log", { spec }));
    const body = { status: { failure: { ...SAID, time } } };
    const said = { namespace: "default", name: "said" };
    await client.patch(KINDS.trainJob, said, { type: "merge", body }, { subresource: "status" });
    for (const [name, [, headline]] of Object.entries(JOBS)) {
      const failure = await until(`${name} says why it failed`, async () => {
        const job = await client.get(KINDS.trainJob, { namespace: "default", name });
        return job.status?.state === "Failed" ? failureOf(job) : undefined;
      }, { timeoutMs: 60_000 });
      const { message = "" } = failure;
      assert.ok(failure.headline?.startsWith(headline), JSON.stringify(failure));
      assert.ok(new TextEncoder().encode(message).length <= FAILURE_LIMITS.messageBytes);
      assert.ok(message.length > 1000, `${message.length}`);
      assert.doesNotMatch(message, STEERS);
      await t.step(`kubectl: ${name}`, async () => {
        const text = await kubectlSays(cluster, name);
        assert.ok(text.includes(headline), text);
        assert.doesNotMatch(text, STEERS);
      });
    }
    for (const [reader, read] of Object.entries(READERS)) {
      for (const name of [...Object.keys(JOBS), "said"]) {
        await t.step(`${reader}: ${name}`, async () => {
          const text = await read(cluster, name);
          if (reader === "Python" && text === "") return;
          const headline = JOBS[name]?.[1] ?? "said";
          assert.ok(text.includes(headline.slice(0, 30)), text);
          // The page's front spells out what its server hands on.
          if (reader !== "page" || name !== "said") assert.doesNotMatch(text, STEERS);
        });
      }
    }
  });
});
