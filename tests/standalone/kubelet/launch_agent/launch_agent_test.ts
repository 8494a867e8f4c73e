/** Tests of the launch agent with real processes: a script that calls it for each host stands for mpirun. */
import assert from "node:assert/strict";
import { provideCommand } from "../../../../app/executable.ts";
import { KINDS } from "../../../../crds/kinds.ts";
import type { Container, Pod } from "../../../../platform/kube/kubernetes.ts";
import { lives, pod, type Rig, withKubelet } from "../rig.ts";
import { until } from "../../../support/fake_clock.ts";

/** A pod of an MPI job. */
function mpiPod(job: string, host: string, container: Partial<Container>): Pod {
  const main: Container = {
    name: "main",
    image: "none",
    securityContext: { runAsUser: 12345 },
    ...container,
    volumeMounts: [
      { name: "mpi-ssh-auth", mountPath: "/home/mpiuser/.ssh" },
      { name: "mpi-hostfile", mountPath: "/etc/mpi" },
    ],
  };
  return pod(`${job}-${host}`, [main], {
    hostname: `${job}-${host}`,
    subdomain: job,
    securityContext: { fsGroup: 1000 },
    volumes: [
      { name: "mpi-ssh-auth", secret: { secretName: `${job}-mpi-ssh-auth` } },
      { name: "mpi-hostfile", configMap: { name: `${job}-mpi-hostfile` } },
    ],
  });
}

/** A node as the shipped runtimes have it. */
function node(job: string, host: string, env: Container["env"] = []): Pod {
  return mpiPod(job, host, {
    env,
    command: ["/usr/sbin/sshd"],
    args: ["-De", "-f", "/home/mpiuser/.sshd_config"],
    readinessProbe: { tcpSocket: { port: 2222 }, initialDelaySeconds: 5 },
  });
}

function launcher(job: string, script: string): Pod {
  return mpiPod(job, "launcher", { command: ["/bin/sh", "-c", script] });
}

/** Creates the objects that pods of a job mount. */
function createFiles({ server }: Rig, job: string, hosts: string[]): void {
  const namespace = "ns";
  server.put(KINDS.secret, {
    metadata: { namespace, name: `${job}-mpi-ssh-auth` },
    data: { "ssh-privatekey": btoa("key") },
  });
  server.put(KINDS.configMap, {
    metadata: { namespace, name: `${job}-mpi-hostfile` },
    data: { hostfile: hosts.map((host) => `${job}-${host}.${job} slots=1\n`).join("") },
  });
}

const isReady = ({ status }: Pod) =>
  status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;

const isStarted = (phase: string | undefined) => phase !== undefined && phase !== "Pending";

const MOUNTS = { "in mount namespaces": true, "with rewritten paths": false };

for (const [where, mountNamespaces] of Object.entries(MOUNTS)) {
  const agentTest = (name: string, test: (rig: Rig) => Promise<void>) =>
    Deno.test(`a launcher of MPI, ${where}, ${name}`, () =>
      withKubelet(test, { mountNamespaces, provideCommand }));

  agentTest("runs commands in the pods of its hostfile, and in its own", async (rig) => {
    createFiles(rig, "job", ["launcher", "node-0", "node-1"]);
    rig.create(node("job", "node-0", [{ name: "WHO", value: "node 0" }]));
    rig.create(node("job", "node-1", [{ name: "WHO", value: "node 1" }]));
    await rig.wait("job-node-0", "is ready", isReady);
    await rig.wait("job-node-1", "is ready", isReady);
    const script = `
WHO=launcher; export WHO
while read -r host slots; do
  echo "from $host" | PATH= "$OMPI_MCA_plm_rsh_agent" -x -o ConnectionAttempts=10 "$host" \\
    'read -r line;' 'echo "$HOSTNAME ($WHO): $line"; pwd >&2; exit 7'
  echo "exit code $?"
done < /etc/mpi/hostfile
`;
    rig.create(launcher("job", script));
    const done = await rig.phase("job-launcher", "Succeeded");
    const logs = await rig.logs("job-launcher");
    const lines = logs.trimEnd().split("\n");
    const folders = lines.filter((line) => line.startsWith("/"));
    assert.deepEqual(lines.filter((line) => !line.startsWith("/")), [
      "job-launcher (): from job-launcher.job",
      "exit code 7",
      "job-node-0 (node 0): from job-node-0.job",
      "exit code 7",
      "job-node-1 (node 1): from job-node-1.job",
      "exit code 7",
    ], logs);
    assert.equal(new Set(folders).size, 3);
    assert.ok(folders.some((folder) => folder.endsWith(done.metadata?.uid ?? "none")), logs);
    assert.match(await rig.logs("job-node-0"), /No SSH server runs here/);
    const told = rig.events.filter(({ reason }) =>
      reason === "CommandReplaced" || reason === "NotEnforced"
    ).map(({ reason, message }) => `${reason}: ${message}`);
    assert.ok(
      told.includes(
        "CommandReplaced: Container main runs no SSH server: the kubelet runs the launcher's commands in it",
      ),
      told.join("\n"),
    );
    assert.ok(
      told.includes(
        "NotEnforced: Containers run as plain processes, which are not held to " +
          "spec.securityContext.fsGroup, spec.containers[main].securityContext.runAsUser",
      ),
      told.join("\n"),
    );
  });
}

function agentTest(name: string, test: (rig: Rig) => Promise<void>): void {
  Deno.test(`a launcher of MPI ${name}`, () => withKubelet(test, { provideCommand }));
}

/** A command that says its process id, and ends at SIGTERM with a code of its own; `$$` stands for `$` in a manifest. */
const WAITING = `'trap "exit 9" TERM; echo "pid $$$$"; sleep 60 & wait $!'`;

/** Runs that command in a node, and then the script in the launcher, which knows the id of the agent. */
function launching(script: string): Pod {
  return launcher(
    "job",
    `
"$OMPI_MCA_plm_rsh_agent" -n job-node-0 ${WAITING} > "$TMPDIR/out" & agent=$!
while ! grep pid "$TMPDIR/out"; do sleep 0.1; done
${script}
wait $agent; echo "code $?"
`,
  );
}

/** The process id that the command has written. */
async function pidIn(rig: Rig): Promise<number> {
  await rig.wait("job-launcher", "has started", ({ status }) => isStarted(status?.phase));
  let logs = "";
  await until("the command runs", async () => {
    logs = await rig.logs("job-launcher");
    return /pid \d+/.test(logs);
  });
  return Number(/pid (\d+)/.exec(logs)?.[1]);
}

const ENDS = {
  "passes signals on to its commands": { script: "kill -TERM $agent", code: 9 },
  "ends its commands when their agent is killed": { script: "kill -KILL $agent", code: 137 },
};
for (const [sentence, { script, code }] of Object.entries(ENDS)) {
  agentTest(sentence, async (rig) => {
    createFiles(rig, "job", []);
    rig.create(node("job", "node-0"));
    await rig.wait("job-node-0", "is ready", isReady);
    rig.create(launching(script));
    const pid = await pidIn(rig);
    await rig.phase("job-launcher", "Succeeded");
    assert.match(await rig.logs("job-launcher"), new RegExp(`code ${code}$`, "m"));
    await until("the command has ended", () => !lives(pid));
  });
}

agentTest("loses its commands in a pod that is deleted", async (rig) => {
  createFiles(rig, "job", []);
  rig.create(node("job", "node-0"));
  await rig.wait("job-node-0", "is ready", isReady);
  rig.create(launching(""));
  const pid = await pidIn(rig);
  assert.ok(lives(pid));
  rig.server.remove(KINDS.pod, { namespace: "ns", name: "job-node-0" });
  await rig.phase("job-launcher", "Succeeded");
  assert.match(await rig.logs("job-launcher"), /^code 137$/m);
  assert.ok(!lives(pid));
});

agentTest("leaves what a command started in the background, until the pod ends", async (rig) => {
  createFiles(rig, "job", []);
  rig.create(node("job", "node-0"));
  await rig.wait("job-node-0", "is ready", isReady);
  const command = `'setsid sleep 60 > /dev/null 2>&1 & echo "pid $!"'`;
  rig.create(launcher("job", `"$OMPI_MCA_plm_rsh_agent" -n job-node-0 ${command}`));
  await rig.phase("job-launcher", "Succeeded");
  const pid = await pidIn(rig);
  assert.ok(lives(pid));
  rig.server.remove(KINDS.pod, { namespace: "ns", name: "job-node-0" });
  await until("it has ended", () => !lives(pid));
});
