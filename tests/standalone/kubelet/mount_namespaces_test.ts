/** Tests of mount namespaces, with real processes, and of the fallback where there are none. */
import assert from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import {
  mountingCommand,
  openMountNamespaces,
} from "../../../standalone/kubelet/volumes/mount_namespace.ts";
import { dataFolders, memoryFolder } from "../../../standalone/kubelet/machine.ts";
import { writePrivateRoot } from "../../../standalone/kubelet/volumes/private_root.ts";
import { until } from "../../support/fake_clock.ts";
import { lives, pod, type Rig, shell, withKubelet } from "./rig.ts";

async function withFolder(test: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function output(command: readonly string[]) {
  const [program = "", ...args] = command;
  const { code, stdout, stderr } = await new Deno.Command(program, { args }).output()
    .catch(() => ({ code: 127, stdout: new Uint8Array(), stderr: new Uint8Array() }));
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, stdout: text(stdout), stderr: text(stderr) };
}

/** The reason why this machine has no mount namespaces, for this user. */
async function reasonHere(): Promise<string | undefined> {
  let reason: string | undefined;
  await withFolder(async (folder) => {
    const user = { uid: Deno.uid() ?? 0, gid: Deno.gid() ?? 0 };
    const opened = await openMountNamespaces({ folder, user });
    if ("reason" in opened) reason = opened.reason;
  });
  return reason;
}

const REASON = await reasonHere();
const REAL = REASON === undefined ? "" : ` (ignored here: ${REASON})`;

/** A test of the first way, which says so if this machine does not allow it. */
function realTest(name: string, test: (rig: Rig) => Promise<void>): void {
  Deno.test({
    name: `\`startKubelet()\`, in mount namespaces, ${name}${REAL}`,
    ignore: REASON !== undefined,
    fn: () => withKubelet(test, { mountNamespaces: true }),
  });
}

/** A path that no rewriting of the command finds. */
const hidden = (path: string) => `${path[0]}${path[1]}""${path.slice(2)}`;

realTest("has volumes at their paths, on the machine's root and in its folders", async (rig) => {
  assert.equal(rig.kubelet.rewritingReason, undefined);
  rig.server.put(KINDS.configMap, {
    metadata: { namespace: "ns", name: "cm" },
    data: { "app.conf": "hello" },
  });
  const serviceAccountToken = { path: "token", expirationSeconds: 3600 };
  const script = [
    `cat ${hidden("/milepost-data/sub/deep/app.conf")}; echo`,
    `cat ${hidden("/etc/milepost-config/app.conf")}; echo`,
    `cat ${hidden("/etc/milepost.conf")}; echo`,
    "cat '/milepost dir #1\\x/app.conf'; echo",
    `cat ${hidden("/var/run/secrets/kubernetes.io/milepost/token")}; echo`,
    `echo x > ${hidden("/milepost-data/written")}; ls ${
      hidden("/milepost-data")
    } | sort | tr '\\n' ' '; echo`,
    `stat -f -c %T ${hidden("/dev/shm")}; ls ${hidden("/dev/shm")} | wc -l; pwd`,
    `id -u; echo last > ${hidden("/dev/termination-log")}`,
  ].join("\n");
  rig.create(
    pod("paths", [
      shell(script, {
        workingDir: "/milepost/work",
        volumeMounts: [
          { name: "data", mountPath: "/milepost-data" },
          { name: "cm", mountPath: "/milepost-data/sub/deep" },
          { name: "cm", mountPath: "/milepost dir #1\\x" },
          { name: "cm", mountPath: "/etc/milepost-config/" },
          { name: "cm", mountPath: "/etc/milepost.conf", subPath: "app.conf" },
          { name: "token", mountPath: "/var/run/secrets/kubernetes.io/milepost" },
          { name: "shm", mountPath: "/dev/shm" },
        ],
      }),
    ], {
      volumes: [
        { name: "data", emptyDir: {} },
        { name: "shm", emptyDir: { medium: "Memory" } },
        { name: "cm", configMap: { name: "cm" } },
        { name: "token", projected: { sources: [{ serviceAccountToken }] } },
      ],
    }),
  );
  const done = await rig.wait(
    "paths",
    "is over",
    ({ status }) => status?.phase === "Succeeded" || status?.phase === "Failed",
  );
  assert.deepEqual((await rig.logs("paths")).split("\n"), [
    "hello",
    "hello",
    "hello",
    "hello",
    "token-1",
    "sub written ",
    "tmpfs",
    "0",
    "/milepost/work",
    `${Deno.uid()}`,
    "",
  ]);
  const ended = done.status?.containerStatuses?.[0]?.state?.terminated;
  assert.deepEqual([ended?.exitCode, ended?.message], [0, "last\n"]);
  for (
    const path of ["/milepost-data", "/milepost", "/etc/milepost-config", "/etc/milepost.conf"]
  ) {
    await assert.rejects(Deno.lstat(path), Deno.errors.NotFound, `${path} is not on the machine`);
  }
});

realTest("has what the pod needs where a volume covers the kubelet's folder", async (rig) => {
  rig.create(
    pod("covered", [
      shell('echo x > "$HOME/file"; touch "$TMPDIR/file"; ls /tmp; cd; pwd', {
        volumeMounts: [{ name: "tmp", mountPath: "/tmp" }],
      }),
    ], { volumes: [{ name: "tmp", emptyDir: {} }] }),
  );
  await rig.phase("covered", "Succeeded");
  assert.match(await rig.logs("covered"), /^milepost-kubelet-\w+\n.*\/home\n$/);
});

realTest("looks up names of pods that come later, and of Services", async (rig) => {
  for (const name of ["job", "web"]) {
    rig.server.put(KINDS.service, {
      metadata: { namespace: "ns", name },
      spec: { clusterIP: "None", selector: { app: name } },
    });
  }
  const look = (name: string) => `until getent hosts ${name}; do sleep 0.05; done`;
  rig.create(
    pod("early", [
      shell(`echo up; ${look('late-0"".job')}; ${look('w""eb.ns.svc')}; getent hosts localhost`),
    ]),
  );
  await until("it waits", async () => {
    return rig.read("early")?.status?.phase === "Running" && await rig.logs("early") === "up\n";
  });
  const late = pod("late", [shell("sleep 300")], { hostname: "late-0", subdomain: "job" });
  rig.create({ ...late, metadata: { ...late.metadata, labels: { app: "web" } } });
  await rig.phase("early", "Succeeded");
  // A name leads to the pod before its status has the address.
  const { status } = await rig.phase("late", "Running");
  const address = status?.podIP?.replace("100.", "127.");
  const lines = (await rig.logs("early")).trim().split("\n").map((line) => line.split(/\s+/));
  assert.deepEqual(lines.slice(1, 3), [
    [address, "late-0.job"],
    [address, "web.ns.svc"],
  ]);
  assert.match(lines[3]?.[0] ?? "", /^(127\.0\.0\.1|::1)$/);
});

realTest("knows a peer that a variable names before its pod is there", async (rig) => {
  rig.server.put(KINDS.service, {
    metadata: { namespace: "ns", name: "job" },
    spec: { clusterIP: "None", selector: { app: "x" } },
  });
  const env = [{ name: "MASTER_ADDR", value: "job-node-0-0.job" }];
  rig.create(pod("rank", [shell('echo $MASTER_ADDR; getent hosts "$MASTER_ADDR"', { env })]));
  await rig.phase("rank", "Succeeded");
  assert.match(await rig.logs("rank"), /^job-node-0-0\.job\n127\.\d+\.\d+\.\d+ +job-node-0-0\.job/);
});

realTest("passes signals and exit codes on, and ends what a process left", async (rig) => {
  rig.create(pod("code", [shell("exit 7")]));
  const failed = await rig.phase("code", "Failed");
  assert.equal(failed.status?.containerStatuses?.[0]?.state?.terminated?.exitCode, 7);
  rig.create(pod("polite", [
    shell(
      "trap 'echo bye; exit 3' TERM; setsid sleep 300 & echo $! $$$$; while :; do sleep 0.05; done",
    ),
  ]));
  const pids = async () => (await rig.logs("polite")).trim().split(" ").map(Number);
  await until(
    "it printed",
    async () =>
      rig.read("polite")?.status?.phase === "Running" && (await rig.logs("polite")) !== "",
  );
  const [child = 0, main = 0] = await pids();
  assert.ok(lives(child));
  assert.equal(Deno.readTextFileSync(`/proc/${main}/comm`).trim(), "sh");
  const leader = Deno.readTextFileSync(`/proc/${main}/stat`).split(" ")[4];
  assert.equal(leader, `${main}`, "the program itself leads its process group");
  const follow = rig.logs("polite", { follow: true });
  rig.server.remove(KINDS.pod, { namespace: "ns", name: "polite" }, 10);
  await until("the pod is gone", () => rig.read("polite") === undefined);
  assert.match(await follow, /bye\n$/);
  assert.ok(!lives(child));
});

realTest("runs probes and hooks with the same paths", async (rig) => {
  const mount = { volumeMounts: [{ name: "v", mountPath: "/milepost/v" }] };
  const exists = (file: string) => ({
    exec: { command: ["sh", "-c", `test -e ${hidden(`/milepost/v/${file}`)}`] },
    periodSeconds: 0.1,
  });
  rig.create(
    pod("probed", [
      shell(`touch ${hidden("/milepost/v/ready")}; sleep 300`, {
        ...mount,
        readinessProbe: exists("ready"),
      }),
    ], { volumes: [{ name: "v", emptyDir: {} }] }),
  );
  await rig.wait("probed", "ready", ({ status }) => status?.containerStatuses?.[0]?.ready === true);
});

realTest("has variables whose names shells do not take", async (rig) => {
  const env = [{ name: "app.properties", value: "a='b c'" }, { name: "-x", value: "$$(y)" }];
  rig.create(pod("names", [{
    name: "main",
    command: ["sh", "-c", "tr '\\0' '\\n' < /proc/$$$$/environ | grep -e '^app' -e '^-x'"],
    env,
  }]));
  await rig.phase("names", "Succeeded");
  const lines = (await rig.logs("names")).trim().split("\n").sort();
  assert.deepEqual(lines, ["-x=$(y)", "app.properties=a='b c'"]);
});

realTest("waits with a reason for a mount that cannot be", async (rig) => {
  rig.create(
    pod("kernel", [shell("true", { volumeMounts: [{ name: "v", mountPath: "/proc/x" }] })], {
      volumes: [{ name: "v", emptyDir: {} }],
    }),
  );
  const waiting = await rig.wait(
    "kernel",
    "waits",
    ({ status }) =>
      status?.containerStatuses?.[0]?.state?.waiting?.reason === "CreateContainerConfigError",
  );
  const message = waiting.status?.containerStatuses?.[0]?.state?.waiting?.message;
  assert.equal(message, 'cannot mount "/proc/x": nothing can be mounted in /proc or /sys');
});

Deno.test("`memoryFolder()` is empty, whatever a run that was killed left there", () =>
  withFolder(async (root) => {
    const folders = dataFolders(root);
    const id = crypto.randomUUID();
    const folder = memoryFolder(id, folders);
    try {
      await Deno.mkdir(`${folder}/uid/volumes`, { recursive: true });
      assert.equal(memoryFolder(id, folders), folder);
      assert.deepEqual([...Deno.readDirSync(folder)], []);
      assert.equal((Deno.statSync(folder).mode ?? 0) & 0o777, 0o700);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  }));

realTest(
  "has the pod's host name, which leads to its address, and leaves the machine's",
  async (rig) => {
    const machine = await output(["uname", "-n"]);
    const long = `${"long-".repeat(12)}ab-name`;
    const script = `uname -n; getent ahostsv4 "$(uname -n)" | awk '{print $1; exit}'`;
    rig.create(pod("by-hostname", [shell(script)], { hostname: "node-0", subdomain: "job" }));
    rig.create(pod("by-name", [shell(script)]));
    rig.create(pod(long, [shell(`uname -n; echo "$HOSTNAME"`)]));
    for (const name of ["by-hostname", "by-name", long]) await rig.phase(name, "Succeeded");
    const loopbackOf = async (name: string) =>
      (await rig.wait(name, "has an address", ({ status }) => status?.podIP !== undefined))
        .status?.podIP?.replace(/^100/, "127");
    assert.deepEqual((await rig.logs("by-hostname")).split("\n"), [
      ...["node-0", await loopbackOf("by-hostname"), ""],
    ]);
    assert.deepEqual((await rig.logs("by-name")).split("\n"), [
      ...["by-name", await loopbackOf("by-name"), ""],
    ]);
    const cut = long.slice(0, 62);
    assert.equal(await rig.logs(long), `${cut}\n${cut}\n`);
    assert.deepEqual(await output(["uname", "-n"]), machine);
  },
);

/** A user that is not root, for tests that run as root; undefined if it cannot have user namespaces. */
const NOBODY = { uid: 65534, gid: 65534 };
const AS_NOBODY = [
  ...["setpriv", `--reuid=${NOBODY.uid}`, `--regid=${NOBODY.gid}`, "--clear-groups"],
] as const;
const userNamespaces = Deno.uid() === 0
  ? await output([...AS_NOBODY, "unshare", "--user", "--map-root-user", "--mount", "true"])
  : { code: 1, stderr: "only root can become another user" };

Deno.test({
  name: "`mountingCommand()` leaves another user who and without rights" +
    (userNamespaces.code === 0 ? "" : ` (ignored here: ${userNamespaces.stderr.trim()})`),
  ignore: userNamespaces.code !== 0,
  fn: () =>
    withFolder(async (folder) => {
      await Deno.mkdir(`${folder}/volume`);
      await Deno.writeTextFile(`${folder}/volume/file`, "hello\n");
      writePrivateRoot(`${folder}/mounts`, [
        { mountPath: "/milepost-data", hostPath: `${folder}/volume` },
        { mountPath: "/etc/milepost-config", hostPath: `${folder}/volume` },
      ]);
      await output(["chown", "-R", `${NOBODY.uid}:${NOBODY.gid}`, folder]);
      const script =
        "cat /milepost-data/file /etc/milepost-config/file; echo x > /milepost-data/own; " +
        "id -u; id -g; uname -n; grep CapEff /proc/self/status; exit 5";
      const wrap = mountingCommand(NOBODY);
      const place = { folder: `${folder}/mounts`, cwd: "/milepost-data", hostname: "pod-a" };
      const command = wrap(["sh", "-c", script], place);
      const { code, stdout, stderr } = await output([...AS_NOBODY, ...command]);
      assert.equal(stderr, "");
      assert.deepEqual(stdout.split("\n"), [
        ...["hello", "hello", "65534", "65534", "pod-a", "CapEff:\t0000000000000000", ""],
      ]);
      assert.equal(code, 5);
      assert.equal((await Deno.stat(`${folder}/volume/own`)).uid, NOBODY.uid);
    }),
});

Deno.test("`openMountNamespaces()` says why there are none, and `startKubelet()` without them rewrites", () =>
  withFolder(async (folder) => {
    const bin = `${folder}/bin`;
    await Deno.mkdir(bin);
    const refusal = "unshare: unshare failed: Operation not permitted";
    await Deno.writeTextFile(`${bin}/unshare`, `#!/bin/sh\necho "${refusal}" >&2\nexit 1\n`, {
      mode: 0o755,
    });
    const user = { uid: 1000, gid: 1000 };
    const opened = await openMountNamespaces({ folder, user, searchPath: bin });
    assert.deepEqual(opened, { reason: refusal });
    assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name), ["bin"]);
    await withKubelet(async (rig) => {
      assert.equal(rig.kubelet.rewritingReason, "mount namespaces are turned off");
      const mounts = { volumeMounts: [{ name: "v", mountPath: "/milepost-data" }] };
      rig.create(
        pod("rewritten", [shell("echo x > /milepost-data/x; cat /milepost-data/x", mounts)], {
          volumes: [{ name: "v", emptyDir: { medium: "Memory" } }],
        }),
      );
      await rig.phase("rewritten", "Succeeded");
      assert.equal(await rig.logs("rewritten"), "x\n");
    });
  }));
