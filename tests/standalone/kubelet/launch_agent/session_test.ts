/** Tests of the launch agent's socket: who reaches what, and what is refused. */
import assert from "node:assert/strict";
import { KINDS } from "../../../../crds/kinds.ts";
import {
  encodeFrame,
  FRAMES,
  MOST_FRAME_BYTES,
  readFrames,
} from "../../../../standalone/kubelet/launch_agent/frames.ts";
import {
  type Enrollment,
  LaunchAgent,
} from "../../../../standalone/kubelet/launch_agent/launch_agent.ts";
import type { StartCommand } from "../../../../standalone/kubelet/launch_agent/job_pods.ts";
import { FakeClock } from "../../../support/fake_clock.ts";

/** A command that ends at once with 3 after it has written what it is. */
const echo: StartCommand = (container, command, { onOutput }) => ({
  pid: 0,
  ended: onOutput("stdout", new TextEncoder().encode(`${container}: ${command}`)).then(() => 3),
  stop: () => Promise.resolve(),
});

interface Rig {
  readonly clock: FakeClock;
  readonly folder: string;
  enroll(job: string, host: string, start?: StartCommand): Enrollment;
  /** Sends bytes and returns the last frame that comes, by its kind. */
  ask(...bytes: Uint8Array[]): Promise<[number | undefined, string]>;
}

async function withAgent(test: (rig: Rig) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  const clock = new FakeClock();
  const agent = new LaunchAgent({
    clock,
    programs: folder,
    folders: [`${folder}/${"long".repeat(30)}`, folder],
  });
  const enroll: Rig["enroll"] = (job, host, start = echo) => {
    const pod = KINDS.pod.parse({
      metadata: { name: host, namespace: "ns" },
      spec: {
        volumes: [{ name: "mpi-ssh-auth", secret: { secretName: job } }],
        containers: [{ name: "c", volumeMounts: [{ name: "mpi-ssh-auth", mountPath: "/k" }] }],
      },
    });
    const address = { loopback: `127.64.0.${host.length}`, podIP: `100.64.0.${host.length}` };
    const enrollment = agent.enroll(pod, address, start);
    assert.ok(enrollment);
    return enrollment;
  };
  const ask: Rig["ask"] = async (...bytes) => {
    const conn = await Deno.connect({ transport: "unix", path: `${folder}/launch.sock` });
    for (const part of bytes) await conn.write(part);
    let last: [number | undefined, string] = [undefined, ""];
    for await (const { kind, payload } of readFrames(conn.readable)) {
      last = [kind, last[1] + new TextDecoder().decode(payload)];
    }
    return last;
  };
  try {
    await test({ clock, folder, enroll, ask });
  } finally {
    await agent.close();
    await Deno.remove(folder, { recursive: true });
  }
}

function tokenOf({ pod }: Enrollment): string {
  const env = pod.spec?.containers[0]?.env ?? [];
  return env.find(({ name }) => name === "MILEPOST_LAUNCH_TOKEN")?.value ?? "";
}

const request = (body: unknown) => encodeFrame(FRAMES.request, JSON.stringify(body));

function agentTest(name: string, test: (rig: Rig) => Promise<void>): void {
  Deno.test(`the launch agent ${name}`, () => withAgent(test));
}

agentTest("runs a command in another pod of the job, by any of its names", async (rig) => {
  const token = tokenOf(rig.enroll("job", "launcher"));
  rig.enroll("job", "node");
  for (const host of ["node", "NODE", "127.64.0.4", "launcher"]) {
    const answer = await rig.ask(request({ token, host, command: "ls" }));
    assert.deepEqual(answer, [FRAMES.exit, "c: ls3"]);
  }
});

agentTest("has a socket for its own user alone", async (rig) => {
  rig.enroll("job", "launcher");
  const { mode } = await Deno.stat(`${rig.folder}/launch.sock`);
  assert.equal((mode ?? 0) & 0o777, 0o600);
});

const REFUSED: Record<string, { host?: string; token?: string; says: RegExp }> = {
  "a pod of another job": { host: "other", says: /^no pod of this job on this machine is called/ },
  "a host that is not there": { host: "nobody", says: /^no pod of this job .* is called nobody$/ },
  "a pod that does not run": { host: "waiting", says: /^the pod waiting does not run$/ },
  "a pod that is gone": { host: "gone", says: /^no pod of this job .* is called gone$/ },
  "any pod with a guessed token": { token: "guessed", says: /^the token belongs to no pod/ },
};
for (const [what, { host = "launcher", token, says }] of Object.entries(REFUSED)) {
  agentTest(`does not reach ${what}`, async (rig) => {
    const own = tokenOf(rig.enroll("job", "launcher"));
    rig.enroll("another", "other");
    rig.enroll("job", "waiting", () => undefined);
    rig.enroll("job", "gone").leave();
    let isOver = false;
    const asked = rig.ask(request({ token: token ?? own, host, command: "ls" }))
      .finally(() => isOver = true);
    while (!isOver) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      await rig.clock.advance(1000);
    }
    const [kind, text] = await asked;
    assert.equal(kind, FRAMES.failure);
    assert.match(text, says);
  });
}

agentTest("waits for a pod that starts a moment later", async (rig) => {
  const token = tokenOf(rig.enroll("job", "launcher"));
  let attempts = 0;
  rig.enroll("job", "node", (...given) => ++attempts < 3 ? undefined : echo(...given));
  let isOver = false;
  const asked = rig.ask(request({ token, host: "node", command: "ls" }))
    .finally(() => isOver = true);
  while (!isOver) {
    await new Promise((resolve) => setTimeout(resolve, 1));
    await rig.clock.advance(1000);
  }
  assert.deepEqual(await asked, [FRAMES.exit, "c: ls3"]);
  assert.equal(attempts, 3);
});

const tooLong = new Uint8Array(5);
new DataView(tooLong.buffer).setUint32(1, MOST_FRAME_BYTES + 1);
const MALFORMED: Record<string, { bytes: Uint8Array; says: RegExp }> = {
  "another frame first": { bytes: encodeFrame(FRAMES.stdin, "x"), says: /must be a request/ },
  "no JSON": { bytes: encodeFrame(FRAMES.request, "{"), says: /must be a request/ },
  "other fields": { bytes: request({ token: "t", host: 1 }), says: /must be a request/ },
  "a frame that is too long": { bytes: tooLong, says: /exceeds 262144/ },
};
for (const [what, { bytes, says }] of Object.entries(MALFORMED)) {
  agentTest(`refuses ${what}`, async (rig) => {
    rig.enroll("job", "launcher");
    const [kind, text] = await rig.ask(bytes);
    assert.equal(kind, FRAMES.failure);
    assert.match(text, says);
  });
}

agentTest("ends a connection that does not say what it wants", async (rig) => {
  rig.enroll("job", "launcher");
  let isOver = false;
  const asked = rig.ask().finally(() => isOver = true);
  while (!isOver) {
    await new Promise((resolve) => setTimeout(resolve, 1));
    await rig.clock.advance(1000);
  }
  assert.deepEqual(await asked, [undefined, ""]);
});

agentTest("ends a command whose agent sends input that was not asked for", async (rig) => {
  const token = tokenOf(rig.enroll("job", "launcher"));
  const stopped = Promise.withResolvers<number>();
  rig.enroll("job", "node", () => ({
    pid: 0,
    ended: stopped.promise,
    stop: () => Promise.resolve(stopped.resolve(143)),
  }));
  const input = encodeFrame(FRAMES.stdin, "x");
  const asked = rig.ask(request({ token, host: "node", command: "ls" }), input, input);
  assert.equal(await stopped.promise, 143);
  await asked.catch(() => {}); // The connection may break before all is read.
});
