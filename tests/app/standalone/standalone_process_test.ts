/** Tests of `standalone` as a process: start, end, and another start on the same folder. */
import assert from "node:assert/strict";
import { dirname } from "node:path";
import { parse as parseYaml } from "yaml";
import { KINDS } from "../../../crds/kinds.ts";
import { createClient } from "../../../platform/kube/connection/connected_client.ts";
import { loadKubeconfig } from "../../../platform/kube/connection/kubeconfig.ts";
import {
  milepost,
  milepostCommand,
  type StandaloneProcess,
  startStandaloneProcess,
} from "../../support/milepost_process.ts";
import { processesThatMention } from "../../support/processes.ts";
import { shellRuntime, trainJob, trainJobThat } from "../../support/standalone.ts";
import { atTerminal } from "../../support/terminal.ts";
import { until } from "../../support/until.ts";

async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "milepost-test-" });
  try {
    await work(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function clientOf(process: StandaloneProcess) {
  return createClient({ connection: loadKubeconfig(process.ready.kubeconfig) });
}

Deno.test("standalone keeps its files for its user alone, and ends with all its children", async () => {
  await inFolder(async (folder) => {
    const data = `${folder}/data`;
    const process = await startStandaloneProcess(["--data-dir", data]);
    using client = disposable(clientOf(process));
    await client.create(
      KINDS.clusterTrainingRuntime,
      shellRuntime("long", "sleep 300 & sleep 300"),
    );
    await client.create(KINDS.trainJob, trainJob("long", "long"));
    await until(
      "the pod's processes",
      async () =>
        [...(await processesThatMention(data)).values()].filter((it) => /^sleep 300/.test(it))
          .length >= 2,
    );
    const kubeconfig = await Deno.stat(process.ready.kubeconfig);
    assert.equal((kubeconfig.mode ?? 0) & 0o777, 0o600);
    assert.equal(((await Deno.stat(data)).mode ?? 0) & 0o777, 0o700);
    const config: unknown = parseYaml(await Deno.readTextFile(process.ready.kubeconfig));
    assert.partialDeepStrictEqual(config, {
      clusters: [{ cluster: { server: process.ready.server } }],
    });

    const began = performance.now();
    // As Ctrl-C does under `deno task`: the terminal tells it, and the task runner once more.
    Deno.kill(process.pid, "SIGTERM");
    assert.equal(await process.stop("SIGTERM"), 0, process.log());
    assert.ok(performance.now() - began < 5_000, "it took more than 5 s to end");
    assert.deepEqual(await processesThatMention(data), new Map());
  });
});

Deno.test("standalone killed with -9 keeps every acknowledged write, and its jobs continue", async () => {
  await inFolder(async (folder) => {
    const data = `${folder}/data`;
    const args = ["--data-dir", data, "--kubeconfig", `${folder}/config`];
    const others = {
      kind: "Config",
      clusters: [],
      users: [],
      contexts: [{ name: "prod", context: { cluster: "prod", user: "prod" } }],
      "current-context": "prod",
    };
    await Deno.writeTextFile(`${folder}/config`, JSON.stringify(others));
    const first = await startStandaloneProcess(args);
    const written: string[] = [];
    {
      using client = disposable(clientOf(first));
      await client.create(
        KINDS.clusterTrainingRuntime,
        shellRuntime("short", "sleep 1; echo done"),
      );
      await client.create(
        KINDS.trainJob,
        trainJob("goes-on", "short", {
          spec: { trainer: { command: ["sh", "-c", "sleep 3; echo done"] } },
        }),
      );
      await client.create(KINDS.trainJob, trainJob("paused", "short", { spec: { suspend: true } }));
      await trainJobThat(client, "goes-on", "runs", (it) => it.status?.state === "Running");
      for (let i = 0; i < 50; i++) {
        await client.create(KINDS.configMap, {
          metadata: { name: `written-${i}`, namespace: "default" },
        });
        written.push(`written-${i}`);
      }
    }
    await first.stop("SIGKILL");

    const second = await startStandaloneProcess(args);
    try {
      using client = disposable(clientOf(second));
      const { items } = await client.list(KINDS.configMap, { namespace: "default" });
      const names = new Set(items.map((it) => it.metadata?.name));
      assert.deepEqual(written.filter((name) => !names.has(name)), []);
      // The container that was killed with its kubelet counts as failed; the job says so or ends well.
      const ended = await trainJobThat(
        client,
        "goes-on",
        "ends",
        (it) => it.status?.state === "Complete" || it.status?.state === "Failed",
      );
      assert.ok(ended.status?.conditions?.some((it) => it.status === "True"));
      const body = { spec: { suspend: false } };
      await client.patch(KINDS.trainJob, { namespace: "default", name: "paused" }, {
        type: "merge",
        body,
      });
      await trainJobThat(client, "paused", "completes", (it) => it.status?.state === "Complete");
    } finally {
      assert.equal(await second.stop(), 0, second.log());
    }
    const left: unknown = parseYaml(await Deno.readTextFile(`${folder}/config`));
    assert.deepEqual(left, { apiVersion: "v1", ...others });
    assert.deepEqual(await processesThatMention(data), new Map());
  });
});

/** Runs a job whose pod ignores SIGTERM; returns the job's processes, found by their argument. */
async function startStubbornJob(process: StandaloneProcess) {
  const seconds = `300.${crypto.getRandomValues(new Uint32Array(1))[0]}`;
  using client = disposable(clientOf(process));
  const script = `trap "" TERM; sleep ${seconds} & sleep ${seconds}`;
  await client.create(KINDS.clusterTrainingRuntime, shellRuntime("stubborn", script));
  await client.create(KINDS.trainJob, trainJob("stubborn", "stubborn"));
  const processes = async () =>
    [...(await processesThatMention(seconds)).entries()].filter(([, it]) => it.startsWith("sleep"));
  await until("the pod's processes", async () => (await processes()).length === 2);
  return processes;
}

Deno.test("standalone ends its pods' processes at a second Ctrl-C too", async () => {
  const process = await startStandaloneProcess([]);
  const processes = await startStubbornJob(process);
  // A second request counts after a second; the pod is given two to end.
  const again = setInterval(() => Deno.kill(process.pid, "SIGINT"), 400);
  try {
    assert.equal(await process.stop("SIGINT"), 1, process.log());
  } finally {
    clearInterval(again);
  }
  await until("they are gone", async () => (await processes()).length === 0);
});

Deno.test("standalone ends what an earlier one left in a temporary folder when it was killed", async () => {
  await inFolder(async (folder) => {
    const env = { TMPDIR: folder };
    const kept = `${folder}/milepost-kept`;
    const first = await startStandaloneProcess([], env);
    const processes = await startStubbornJob(first);
    await first.stop("SIGKILL");
    const left = dirname(first.ready.kubeconfig);
    assert.equal((await processes()).length, 2);
    assert.ok((await Deno.stat(left)).isDirectory);
    assert.equal(await (await startStandaloneProcess(["--data-dir", kept], env)).stop(), 0);
    assert.deepEqual(await processes(), []);
    assert.equal(await (await startStandaloneProcess([], env)).stop(), 0);
    const names = (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name);
    assert.deepEqual(names, ["milepost-kept"]);
  });
});

Deno.test("standalone killed with -9 ends what trained on, and says so at its next start and of the pod", async () => {
  await inFolder(async (folder) => {
    const args = ["--data-dir", `${folder}/data`];
    const first = await startStandaloneProcess(args);
    const processes = await startStubbornJob(first);
    const before = (await processes()).map(([pid]) => pid);
    await first.stop("SIGKILL");
    assert.deepEqual((await processes()).map(([pid]) => pid), before);
    const second = await startStandaloneProcess(args);
    try {
      assert.match(second.log(), /An earlier run was killed: ended the processes/);
      const now = (await processes()).map(([pid]) => pid);
      assert.deepEqual(now.filter((pid) => before.includes(pid)), []);
      using client = disposable(clientOf(second));
      const told = await until("the pod says so", async () => {
        const { items } = await client.list(KINDS.event, { namespace: "default" });
        return items.find(({ reason }) => reason === "TerminationByKubelet");
      });
      assert.match(told.message ?? "", /^Milepost ended or was killed while this ran/);
      const { items } = await client.list(KINDS.pod, { namespace: "default" });
      const ended = items.flatMap(({ status }) => status?.containerStatuses ?? [])
        .map(({ state, lastState }) => state?.terminated ?? lastState?.terminated);
      assert.deepEqual(ended.map((it) => [it?.exitCode, it?.reason]), [
        [137, "TerminationByKubelet"],
      ]);
    } finally {
      await second.stop();
    }
    assert.deepEqual(await processes(), []);
  });
});

Deno.test("standalone stops when its terminal is closed", async () => {
  const process = await startStandaloneProcess([]);
  const processes = await startStubbornJob(process);
  assert.equal(await process.stop("SIGHUP"), 0, process.log());
  assert.deepEqual(await processes(), []);
  await assert.rejects(Deno.stat(dirname(process.ready.kubeconfig)), Deno.errors.NotFound);
});

Deno.test("standalone reports a folder in use, and names the flag of a port that is taken", async () => {
  await inFolder(async (folder) => {
    const process = await startStandaloneProcess(["--data-dir", `${folder}/a`]);
    try {
      const port = new URL(process.ready.server).port;
      const status = new URL(process.ready.status).port;
      const cases: [string[], RegExp][] = [
        [["--data-dir", `${folder}/a`], /in use by another standalone/],
        [
          ["--data-dir", `${folder}/b`, "--port", port],
          new RegExp(`:${port}.*choose another port`),
        ],
        [
          ["--data-dir", `${folder}/c`, "--status-port", status],
          new RegExp(`--status-port.*${status}|:${status}`),
        ],
        [["--data-dir", process.ready.kubeconfig], /--data-dir/],
        [
          ["--kubeconfig", process.ready.kubeconfig],
          /the standalone at \S+ uses it; choose another/,
        ],
      ];
      for (const [args, want] of cases) {
        const { code, stderr } = await milepost(["standalone", ...args]);
        assert.equal(code, 2, stderr);
        assert.match(stderr, want);
        const own = stderr.trimEnd().split("\n").filter((line) => line.startsWith("milepost: "));
        assert.equal(own.length, 1, stderr);
        assert.doesNotMatch(stderr, /^\s+at /m);
      }
    } finally {
      assert.equal(await process.stop(), 0);
    }
  });
});

/** Closes a client's connections at the end of a block. */
function disposable<T extends { close(): void }>(client: T): T & Disposable {
  return Object.assign(client, { [Symbol.dispose]: () => client.close() });
}

Deno.test("at a terminal Ctrl-C says what ends with a standalone, and that nothing of it is kept", async () => {
  await using screen = atTerminal(milepostCommand("standalone"), {});
  await screen.shows(/press Enter for another/);
  await screen.type("\x03");
  assert.equal(await screen.ended(), 0);
  assert.match(
    screen.text(),
    /# stopping: no job runs; nothing is kept, as there was no --data-dir\r\n$/,
  );
});
