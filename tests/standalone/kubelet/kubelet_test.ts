/** Tests of the kubelet with real processes. */
import assert from "node:assert/strict";
import { JOB_KINDS } from "../../../crds/job_kinds.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { unlessAborted } from "../../../platform/base/aborted.ts";
import type { KubeClient } from "../../../platform/kube/client.ts";
import { createProcesses } from "../../../standalone/kubelet/processes/processes.ts";
import { systemClock } from "../../../platform/base/clock.ts";
import { KubeError } from "../../../platform/kube/errors.ts";
import { until } from "../../support/fake_clock.ts";
import { MemoryServer } from "./memory_client.ts";
import { lives, pod, shell, withKubelet } from "./rig.ts";

Deno.test("`startKubelet()` runs a pod to its end and reports its exit code", () =>
  withKubelet(async (rig) => {
    rig.create(pod("good", [shell("echo hello; echo oops >&2")]));
    rig.create(pod("bad", [shell("exit 7")]));
    const good = await rig.phase("good", "Succeeded");
    assert.equal(good.status?.containerStatuses?.[0]?.state?.terminated?.reason, "Completed");
    assert.match(good.status?.podIP ?? "", /^100\./);
    assert.equal(good.status?.hostIP, "192.0.2.1");
    const bad = await rig.phase("bad", "Failed");
    const ended = bad.status?.containerStatuses?.[0]?.state?.terminated;
    assert.deepEqual([ended?.exitCode, ended?.reason], [7, "Error"]);
    const log = await rig.logs("good");
    assert.deepEqual(log.trim().split("\n").sort(), ["hello", "oops"]);
  }));

Deno.test("`startKubelet()` restarts on failure, with a back-off, until it succeeds", () =>
  withKubelet(async (rig) => {
    const script = "n=$(cat /count/n 2>/dev/null || echo 0); echo $((n+1)) > /count/n; " +
      "echo try $n; [ $n -ge 2 ]";
    rig.create(
      pod("retry", [shell(script, { volumeMounts: [{ name: "v", mountPath: "/count" }] })], {
        restartPolicy: "OnFailure",
        volumes: [{ name: "v", emptyDir: {} }],
      }),
    );
    const done = await rig.phase("retry", "Succeeded");
    const status = done.status?.containerStatuses?.[0];
    assert.equal(status?.restartCount, 2);
    assert.equal(status?.lastState?.terminated?.exitCode, 1);
    assert.equal(await rig.logs("retry"), "try 2\n");
    assert.equal(await rig.logs("retry", { previous: true }), "try 1\n");
  }));

Deno.test("`startKubelet()` reports CrashLoopBackOff while it waits", () =>
  withKubelet(async (rig) => {
    rig.create(pod("crash", [shell("exit 1")], { restartPolicy: "Always" }));
    await rig.wait("crash", "backs off", (one) => {
      const status = one.status?.containerStatuses?.[0];
      return status?.state?.waiting?.reason === "CrashLoopBackOff" &&
        status.lastState?.terminated?.exitCode === 1;
    });
    const told = rig.events.filter(({ reason }) => reason === "BackOff");
    assert.equal(told.length, 1, JSON.stringify(rig.events));
    const words = /^Back-off restarting failed container main in pod crash_ns\(.+\)$/;
    assert.match(told[0]?.message ?? "", words);
  }, { backOff: { firstMs: 60_000, longestMs: 60_000 } }));

Deno.test("`startKubelet()` runs init containers in order before the others, and sidecars beside", () =>
  withKubelet(async (rig) => {
    const mount = { volumeMounts: [{ name: "v", mountPath: "/shared" }] };
    rig.create(pod("ordered", [shell("cat /shared/order; echo main", mount)], {
      volumes: [{ name: "v", emptyDir: {} }],
      initContainers: [
        shell("echo one >> /shared/order", { name: "one", ...mount }),
        shell("sleep 1000", { name: "side", restartPolicy: "Always" }),
        shell("echo two >> /shared/order", { name: "two", ...mount }),
      ],
      terminationGracePeriodSeconds: 1,
    }));
    const done = await rig.phase("ordered", "Succeeded");
    assert.equal(await rig.logs("ordered"), "one\ntwo\nmain\n");
    assert.ok(done.status?.initContainerStatuses?.[1]?.state?.terminated, "the sidecar has ended");
    rig.create(pod("stuck", [shell("true")], {
      initContainers: [shell("exit 3", { name: "one" })],
    }));
    const failed = await rig.phase("stuck", "Failed");
    assert.ok(failed.status?.containerStatuses?.[0]?.state?.waiting);
  }));

Deno.test("`startKubelet()` ends a deleted pod with SIGTERM, its grandchildren too", () =>
  withKubelet(async (rig) => {
    rig.create(pod("polite", [
      shell("trap 'echo bye; exit 0' TERM; setsid sleep 300 & sleep 300 & echo $!; wait"),
    ]));
    await rig.wait("polite", "runs", (one) => one.status?.phase === "Running");
    await until("it printed", async () => (await rig.logs("polite")) !== "");
    const pid = Number((await rig.logs("polite")).trim());
    assert.ok(lives(pid));
    const follow = rig.logs("polite", { follow: true });
    rig.server.remove(KINDS.pod, { namespace: "ns", name: "polite" }, 10);
    await until("the pod is gone", () => rig.read("polite") === undefined);
    assert.ok(!lives(pid));
    assert.match(await follow, /bye\n$/);
  }));

Deno.test("`startKubelet()` kills what ignores SIGTERM after the grace period", () =>
  withKubelet(async (rig) => {
    rig.create(pod("deaf", [shell("trap '' TERM; echo up; while :; do sleep 0.1; done")]));
    await rig.wait("deaf", "runs", (one) => one.status?.phase === "Running");
    await until("it printed", async () => (await rig.logs("deaf")) === "up\n");
    const begun = performance.now();
    rig.server.remove(KINDS.pod, { namespace: "ns", name: "deaf" }, 1);
    await until("the pod is gone", () => rig.read("deaf") === undefined);
    assert.ok(performance.now() - begun >= 900);
  }));

Deno.test("`startKubelet()` runs the preStop hook before SIGTERM", () =>
  withKubelet(async (rig) => {
    const container = shell("while [ ! -e /v/stop ]; do sleep 0.05; done; echo hooked", {
      volumeMounts: [{ name: "v", mountPath: "/v" }],
      lifecycle: { preStop: { exec: { command: ["sh", "-c", "touch /v/stop; sleep 0.3"] } } },
    });
    rig.create(pod("hook", [container], { volumes: [{ name: "v", emptyDir: {} }] }));
    await rig.wait("hook", "runs", (one) => one.status?.phase === "Running");
    const follow = rig.logs("hook", { follow: true });
    rig.server.remove(KINDS.pod, { namespace: "ns", name: "hook" }, 10);
    assert.equal(await follow, "hooked\n");
    await until("the pod is gone", () => rig.read("hook") === undefined);
  }));

Deno.test("`startKubelet()` fails a pod past its deadline", () =>
  withKubelet(async (rig) => {
    rig.create(pod("late", [shell("sleep 100")], { activeDeadlineSeconds: 1 }));
    const failed = await rig.phase("late", "Failed");
    assert.equal(failed.status?.reason, "DeadlineExceeded");
  }));

Deno.test("`startKubelet()` fails what it does not support, naming the field", () =>
  withKubelet(async (rig) => {
    rig.create(pod("host", [{ name: "main", image: "busybox" }], { hostNetwork: true }));
    const failed = await rig.phase("host", "Failed");
    assert.match(failed.status?.message ?? "", /spec\.hostNetwork/);
    assert.equal(failed.status?.reason, "UnsupportedByKubelet");
    assert.deepEqual(failed.status?.containerStatuses, []);
    await until(
      "an event that says so",
      () =>
        rig.events.some((it) =>
          it.reason === "UnsupportedByKubelet" && /spec\.hostNetwork/.test(it.message)
        ),
    );
    assert.match(failed.status?.message ?? "", /spec\.containers\[0\]\.command/);
  }));

Deno.test("`startKubelet()` fails a container whose program is not on this machine", () =>
  withKubelet(async (rig) => {
    rig.create(pod("missing", [{ name: "main", image: "x", command: ["no-such-program-here"] }]));
    const failed = await rig.phase("missing", "Failed");
    const ended = failed.status?.containerStatuses?.[0]?.state?.terminated;
    assert.deepEqual([ended?.exitCode, ended?.reason], [128, "StartError"]);
    assert.match(ended?.message ?? "", /not found on PATH/);
    const told = rig.events.find(({ reason }) => reason === "Failed");
    assert.equal(told?.message, `Error: ${ended?.message}`);
  }));

Deno.test("`startKubelet()` waits for a missing ConfigMap, says so, and starts the pod when it is created", () =>
  withKubelet(async (rig) => {
    const env = [{ name: "A", valueFrom: { configMapKeyRef: { name: "cm", key: "a" } } }];
    rig.create(pod("waits", [shell("echo $A", { env })]));
    const waiting = await rig.wait(
      "waits",
      "config error",
      (one) =>
        one.status?.containerStatuses?.[0]?.state?.waiting?.reason === "CreateContainerConfigError",
    );
    assert.match(
      waiting.status?.containerStatuses?.[0]?.state?.waiting?.message ?? "",
      /configmap "cm" not found/,
    );
    const told = rig.events.find(({ reason }) => reason === "Failed");
    assert.match(told?.message ?? "", /^Error: .*configmap "cm" not found/);
    rig.server.put(KINDS.configMap, {
      metadata: { namespace: "ns", name: "cm" },
      data: { a: "1" },
    });
    await rig.phase("waits", "Succeeded");
    assert.equal(await rig.logs("waits"), "1\n");
  }));

Deno.test("`startKubelet()` mounts a ConfigMap and refreshes it in place", () =>
  withKubelet(async (rig) => {
    const cm = (text: string) => ({
      metadata: { namespace: "ns", name: "cm" },
      data: { key: text },
    });
    rig.server.put(KINDS.configMap, cm("old"));
    const script =
      "echo $(cat /etc/cm/key); while grep -q old /etc/cm/key; do sleep 0.05; done; cat $FILE";
    const container = shell(script, {
      env: [{ name: "FILE", value: "/etc/cm/key" }],
      volumeMounts: [{ name: "cm", mountPath: "/etc/cm" }],
    });
    rig.create(pod("fresh", [container], { volumes: [{ name: "cm", configMap: { name: "cm" } }] }));
    await rig.wait("fresh", "runs", (one) => one.status?.phase === "Running");
    await until("it has read", async () => (await rig.logs("fresh")) === "old\n");
    rig.server.put(KINDS.configMap, cm("new"));
    await rig.phase("fresh", "Succeeded");
    assert.match(await rig.logs("fresh"), /new$/m);
  }));

Deno.test("`startKubelet()` mounts a token bound to the pod", () =>
  withKubelet(async (rig) => {
    const container = shell("cat $T", {
      env: [{ name: "T", value: "/var/run/t/token" }],
      volumeMounts: [{ name: "t", mountPath: "/var/run/t", readOnly: true }],
    });
    const serviceAccountToken = { path: "token", audience: "aud", expirationSeconds: 3600 };
    rig.create(pod("token", [container], {
      serviceAccountName: "sa",
      volumes: [{ name: "t", projected: { sources: [{ serviceAccountToken }] } }],
    }));
    await rig.phase("token", "Succeeded");
    assert.equal((await rig.logs("token")).trim(), "token-1");
    const text = JSON.stringify(rig.server.tokenRequests[0]);
    assert.match(text, /"audiences":\["aud"\].*"kind":"Pod","name":"token","uid":"/);
  }));

/** What an API server says that has not heard yet of the pod on this node (NodeRestriction). */
const UNKNOWN_YET = [
  new KubeError("node requested token bound to a pod scheduled on a different node", {
    code: 403,
    reason: "Forbidden",
  }),
  new KubeError('pod "late" not found', { code: 404, reason: "NotFound" }),
];
const mountsToken = (name: string) => {
  const serviceAccountToken = { path: "token" };
  const volumes = [{ name: "t", projected: { sources: [{ serviceAccountToken }] } }];
  return pod(name, [shell("true")], { volumes });
};

Deno.test("`startKubelet()` tells no failed mount of a pod that the API server learns of a moment later", () =>
  withKubelet(async (rig) => {
    const refusals = [...UNKNOWN_YET];
    rig.server.tokenRefusal = () => refusals.shift();
    rig.create(mountsToken("late"));
    await rig.phase("late", "Succeeded");
    assert.deepEqual(refusals, []);
    assert.deepEqual(rig.events.filter(({ reason }) => reason === "FailedMount"), []);
  }));

Deno.test("`startKubelet()` tells a failed mount that lasts", () => {
  const fast = { ...systemClock, monotonic: () => 100 * systemClock.monotonic() };
  return withKubelet(async (rig) => {
    rig.server.tokenRefusal = () => UNKNOWN_YET[0];
    rig.create(mountsToken("refused"));
    await until("it is told", () => rig.events.some(({ reason }) => reason === "FailedMount"));
    assert.equal(rig.read("refused")?.status?.phase, "Pending");
  }, { clock: fast });
});

Deno.test("`startKubelet()` runs readiness, startup and liveness probes", () =>
  withKubelet(async (rig) => {
    const mount = { volumeMounts: [{ name: "v", mountPath: "/v" }] };
    const test = (file: string) => ({ exec: { command: ["test", "-e", `/v/${file}`] } });
    const script = "sleep 0.2; touch /v/started; sleep 0.5; touch /v/ready /v/alive; sleep 300";
    const container = shell(script, {
      ...mount,
      startupProbe: { ...test("started"), periodSeconds: 0.1, failureThreshold: 100 },
      readinessProbe: { ...test("ready"), periodSeconds: 0.1 },
    });
    rig.create(pod("probed", [container], { volumes: [{ name: "v", emptyDir: {} }] }));
    const isReady = (one: { status?: { conditions?: { type: string; status: string }[] } }) =>
      one.status?.conditions?.some((c) => c.type === "Ready" && c.status === "True") ?? false;
    await rig.wait(
      "probed",
      "started, not ready",
      (one) => one.status?.containerStatuses?.[0]?.started === true && !isReady(one),
    );
    await rig.wait("probed", "ready", isReady);
    const dying = shell("sleep 300", {
      livenessProbe: { ...test("never"), periodSeconds: 0.1, failureThreshold: 2 },
      ...mount,
    });
    rig.create(pod("sick", [dying], {
      volumes: [{ name: "v", emptyDir: {} }],
      terminationGracePeriodSeconds: 1,
    }));
    const failed = await rig.phase("sick", "Failed");
    assert.equal(failed.status?.containerStatuses?.[0]?.state?.terminated?.exitCode, 143);
    assert.ok(rig.events.some(({ reason }) => reason === "Unhealthy"));
  }));

Deno.test("`startKubelet()` gives two pods with one port addresses of their own, by name", () =>
  withKubelet(async (rig) => {
    rig.server.put(KINDS.service, {
      metadata: { namespace: "ns", name: "job" },
      spec: { clusterIP: "None", selector: { app: "x" } },
    });
    const folder = await Deno.makeTempDir();
    try {
      const file = `${folder}/serve.ts`;
      await Deno.writeTextFile(
        file,
        `Deno.serve({hostname: Deno.args[0], port: 18080, onListen() {}}, () => new Response(Deno.args[0]));`,
      );
      for (const name of ["a", "b"]) {
        const container = {
          name: "main",
          image: "x",
          command: ["deno", "run", "-A", file, "$(POD_IP)"],
          env: [{ name: "POD_IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } }],
          ports: [{ name: "http", containerPort: 18080 }],
          readinessProbe: { httpGet: { port: "http", path: "/" }, periodSeconds: 0.1 },
        };
        rig.create(pod(name, [container], { hostname: name, subdomain: "job" }));
      }
      const ready = (one: { status?: { containerStatuses?: { ready: boolean }[] } }) =>
        one.status?.containerStatuses?.[0]?.ready === true;
      await rig.wait("a", "ready", ready);
      await rig.wait("b", "ready", ready);
      const script =
        "const t = await Promise.all(Deno.args.map((u) => fetch(u).then((r) => r.text()))); " +
        "console.log(new Set(t).size, Deno.env.get('PEER'))";
      rig.create(pod("client", [{
        name: "main",
        image: "x",
        command: ["deno", "eval", script, "http://a.job:18080", "http://b.job.ns.svc:18080/x"],
        env: [{ name: "PEER", value: "a.job" }],
      }]));
      await rig.phase("client", "Succeeded");
      assert.match(await rig.logs("client"), /^2 127\.\d+\.\d+\.\d+\n$/);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  }));

Deno.test("`startKubelet()` places pods without a node, and says why it cannot", () =>
  withKubelet(async (rig) => {
    const node = (name: string, spec: object) => ({
      ...pod(name, [shell("true")]),
      spec: {
        ...pod(name, [shell("true")]).spec,
        containers: [shell("true")],
        nodeName: undefined,
        ...spec,
      },
    });
    rig.create(node("free", {}));
    rig.create(node("gpu", { nodeSelector: { accelerator: "x" } }));
    rig.create(node("gated", { schedulingGates: [{ name: "wait" }] }));
    await rig.phase("free", "Succeeded");
    const told = (name: string) => rig.read(name)?.status?.conditions?.[0];
    await until("both are told", () => told("gpu") !== undefined && told("gated") !== undefined);
    assert.equal(told("gpu")?.reason, "Unschedulable");
    assert.equal(told("gated")?.reason, "SchedulingGated");
  }, { schedule: true }));

Deno.test("`startKubelet()` registers the node and renews its lease", () =>
  withKubelet(async (rig) => {
    const node = rig.server.read(KINDS.node, { name: "test-node" });
    assert.match(JSON.stringify(node?.status), /"type":"Ready","status":"True"/);
    assert.match(JSON.stringify(node?.status?.allocatable), /"ephemeral-storage":"[1-9][0-9]*Ki"/);
    const lease = { namespace: "kube-node-lease", name: "test-node" };
    await until("the lease is there", () => rig.server.read(KINDS.lease, lease) !== undefined);
  }));

Deno.test("`close()` ends every process", () =>
  withKubelet(async (rig) => {
    rig.create(pod("long", [shell("echo $$; sleep 300")]));
    await rig.wait("long", "runs", (one) => one.status?.phase === "Running");
    await until("it printed", async () => (await rig.logs("long")).includes("\n"));
    const pid = await rig.logs("long");
    await rig.stop();
    assert.ok(!lives(Number(pid)));
  }));

Deno.test("`startKubelet()` ends processes that a killed kubelet left, and applies the restart policy", async () => {
  const dataDir = await Deno.makeTempDir();
  const server = new MemoryServer();
  const uid = crypto.randomUUID();
  try {
    // What a kubelet that was killed leaves: its folder, a process, and a status that says running.
    await Deno.mkdir(`${dataDir}/processes`);
    await Deno.writeTextFile(`${dataDir}/kubelet-id`, "old");
    const before = createProcesses({
      clock: systemClock,
      bookFolder: `${dataDir}/processes`,
      markPrefix: "old/",
    });
    const left = before.start({
      command: ["sleep", "300"],
      cwd: "/",
      env: { PATH: Deno.env.get("PATH") ?? "" },
      mark: `old/${uid}/main/0`,
      onOutput: () => {},
    });
    for (const restartPolicy of ["OnFailure", "Never"] as const) {
      server.put(KINDS.pod, {
        ...pod(restartPolicy.toLowerCase(), [shell("echo again")], { restartPolicy }),
        status: {
          phase: "Running",
          startTime: new Date().toISOString(),
          containerStatuses: [{
            name: "main",
            restartCount: 0,
            ready: true,
            image: "",
            imageID: "",
            state: { running: { startedAt: new Date().toISOString() } },
          }],
        },
      });
    }
    await withKubelet(async (rig) => {
      assert.equal(await left.ended, 137);
      const done = await rig.phase("onfailure", "Succeeded");
      assert.equal(done.status?.containerStatuses?.[0]?.restartCount, 1);
      const failed = await rig.phase("never", "Failed");
      assert.equal(failed.status?.containerStatuses?.[0]?.state?.terminated?.exitCode, 137);
      assert.ok(failed.status?.conditions?.some(({ type }) => type === "DisruptionTarget"));
    }, { dataDir, server });
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
});

Deno.test("`startKubelet()` keeps a container's last words, its own or the end of its log", () =>
  withKubelet(async (rig) => {
    rig.create(pod("words", [shell("echo because > /dev/termination-log; exit 1")]));
    const fallback = { terminationMessagePolicy: "FallbackToLogsOnError" };
    rig.create(pod("log", [shell("echo the reason; exit 1", fallback)]));
    rig.create(pod("named", [shell('echo found > "$MILEPOST_TERMINATION_LOG"; exit 1')]));
    const message = async (name: string) =>
      (await rig.phase(name, "Failed")).status?.containerStatuses?.[0]?.state?.terminated?.message;
    assert.equal((await message("words"))?.trim(), "because");
    assert.equal(await message("log"), "the reason");
    assert.equal((await message("named"))?.trim(), "found");
  }));

Deno.test("`startKubelet()` gives a working folder that the machine lacks", () =>
  withKubelet(async (rig) => {
    const container = shell("echo x > file; cat /no-such-folder/here/file; pwd", {
      workingDir: "/no-such-folder/here",
    });
    rig.create(pod("work", [container]));
    await rig.phase("work", "Succeeded");
    assert.match(await rig.logs("work"), /^x\n.*\/pods\/.*\n$/);
  }));

Deno.test("`startKubelet()` passes only PATH of its own environment on", () =>
  withKubelet(async (rig) => {
    rig.create(pod("env", [shell("env | cut -d= -f1 | sort | tr '\\n' ' '")]));
    await rig.phase("env", "Succeeded");
    const names = (await rig.logs("env")).trim().split(" ")
      .filter((name) => name !== "" && !["_", "SHLVL", "PWD", "OLDPWD"].includes(name));
    assert.deepEqual(names, [
      "DENO_DIR",
      "DENO_NO_UPDATE_CHECK",
      "HOME",
      "HOSTNAME",
      "LANG",
      "MILEPOST_CONTAINER",
      "MILEPOST_TERMINATION_LOG",
      "PATH",
      "TMPDIR",
    ]);
  }));

Deno.test("`startKubelet()` runs a pod with limits, and says that they are not enforced", () =>
  withKubelet(async (rig) => {
    rig.create(pod("limited", [shell("true", { resources: { limits: { memory: "1Gi" } } })]));
    await rig.phase("limited", "Succeeded");
    const told = rig.events.find(({ reason }) => reason === "NotEnforced");
    assert.match(told?.message ?? "", /spec\.containers\[main\]\.resources\.limits/);
  }));

Deno.test("`readLogs()` says why there is no log", () =>
  withKubelet(async (rig) => {
    const env = [{ name: "A", valueFrom: { secretKeyRef: { name: "gone", key: "a" } } }];
    rig.create(pod("waits", [shell("true", { env })]));
    await rig.wait("waits", "config error", (one) =>
      one.status?.containerStatuses?.[0]?.state?.waiting?.reason === "CreateContainerConfigError");
    const read = (name: string, container: string, uid?: string) => () =>
      rig.kubelet.readLogs({ namespace: "ns", name, uid }, container);
    assert.throws(read("none", "main"), { name: "LogProblem", code: 404 });
    assert.throws(read("waits", "main", "other"), { name: "LogProblem", code: 404 });
    assert.throws(read("waits", "other"), { name: "LogProblem", code: 400 });
    assert.throws(read("waits", "main"), /is waiting to start: CreateContainerConfigError/);
    rig.create(pod("once", [shell("true")]));
    await rig.phase("once", "Succeeded");
    const ref = { namespace: "ns", name: "once" };
    assert.throws(
      () =>
        rig.kubelet.readLogs(ref, "main", { previous: true }),
      /previous terminated container/,
    );
  }));

Deno.test("kept logs stay if the kubelet ends before it knows which are kept", async () => {
  const dataDir = await Deno.makeTempDir();
  const server = new MemoryServer();
  server.put(KINDS.pod, pod("there", [shell("sleep 300")]));
  const client = server.client();
  const silent: KubeClient = {
    ...client,
    list: (kind, options) =>
      kind.plural === KINDS.keptLog.plural
        ? unlessAborted(new Promise(() => {}), options?.signal ?? AbortSignal.abort())
        : client.list(kind, options),
  };
  const bounds = { bytes: 1_000_000, ageMs: 0 };
  try {
    await Deno.mkdir(`${dataDir}/logs/gone`, { recursive: true });
    await withKubelet(async (rig) => {
      const log = async () => await rig.logs("there");
      await until(
        "its pods are known",
        () => log().then(() => true, (error) => /waiting to start/.test(String(error))),
      );
      await rig.stop();
      assert.ok((await Deno.stat(`${dataDir}/logs/gone`)).isDirectory);
    }, { dataDir, server, logKeeping: { client: silent, kinds: JOB_KINDS, bounds } });
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
});
