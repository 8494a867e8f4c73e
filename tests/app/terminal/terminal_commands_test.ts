/** Tests of the commands of the terminal as a user runs them, on a standalone. */
import assert from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { ANNOTATIONS, LABELS, PUSH_AUDIENCE } from "../../../crds/names.ts";
import { run } from "../../support/command.ts";
import { milepost, milepostCommand } from "../../support/milepost_process.ts";
import {
  progress,
  push,
  requestToken,
  shareStandalone,
  shellRuntime,
  trainJob,
  trainJobThat,
} from "../../support/standalone.ts";
import { atTerminal } from "../../support/terminal.ts";
import { until } from "../../support/until.ts";

/** Says what would steer a terminal, and then runs until it is stopped. */
const TALKS = "printf 'hello\\n\\033[2Jwipe\\n\\033[31mred\\033[0m\\n'; exec sleep 600";
/** Fails once, and runs on when it is started again. */
const CRASHES =
  'n=$(cat "$TMPDIR/n" 2>/dev/null || echo 1); echo $((n + 1)) > "$TMPDIR/n"; echo "start $n"; [ $n -gt 1 ] || exit 1; exec sleep 600';
const CHATS = "while echo hello; do sleep 0.2; done";
const standalone = shareStandalone(async (client) => {
  await client.create(KINDS.clusterTrainingRuntime, shellRuntime("talks", TALKS));
  await client.create(KINDS.clusterTrainingRuntime, shellRuntime("chats", CHATS));
});

/** A job whose pod talks, and has pushed; a grace holds where nobody asks for another. */
async function talkingJob(name: string, grace?: string): Promise<void> {
  const { client } = standalone();
  const annotations = grace === undefined ? undefined : { [ANNOTATIONS.earlyStoppingGrace]: grace };
  await client.create(KINDS.trainJob, trainJob(name, "talks", { annotations }));
  const pod = await until("its pod runs", async () => {
    const labelSelector = `${LABELS.trainJobName}=${name}`;
    const { items: [pod] } = await client.list(KINDS.pod, { namespace: "default", labelSelector });
    return pod?.status?.phase === "Running" ? pod : undefined;
  });
  const named = { name: pod.metadata?.name ?? "", uid: pod.metadata?.uid ?? "" };
  const account = { namespace: "default", name: "default" };
  const token = await requestToken(client, account, { audience: PUSH_AUDIENCE, pod: named });
  for (const [done, loss] of [[10, "2.5"], [40, "0.75"]] as const) {
    const body = progress(done, { loss, "\x1b[2J": "1" });
    assert.equal((await push(standalone(), { name }, token, body)).status, 200);
  }
}

const env = () => ({ KUBECONFIG: standalone().kubeconfig });
const runs = (...args: string[]) => milepost(args, { env: env() });
// deno-lint-ignore no-control-regex
const STEERS = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]/;

const folder = await Deno.makeTempDir();
Deno.test.afterAll(() => Deno.remove(folder, { recursive: true }));

/** The path of the same kubeconfig for another server. */
async function changedKubeconfig(server: string): Promise<string> {
  const file = `${folder}/${crypto.randomUUID()}.yaml`;
  const text = await Deno.readTextFile(standalone().kubeconfig);
  const changed = text.replace(/server: .*/, `server: ${server}`)
    .replace(/certificate-authority-data: .*/, "");
  await Deno.writeTextFile(file, changed);
  return file;
}

Deno.test("get shows state, curves, ranks and events of a job; a hostile metric is spelled out", async () => {
  await talkingJob("seen");
  const { code, stdout, stderr } = await runs("get", "seen");
  assert.equal(code, 0, stderr);
  assert.doesNotMatch(stdout, STEERS);
  assert.match(stdout, /^TrainJob default\/seen {2}Running {2}created \d+s ago\n/);
  assert.match(stdout, /\nloss {2}0\.75\n +2\.5 [\u2800-\u28ff]+\n/);
  assert.match(stdout, /\n\\u001b\[2J {2}1\n/);
  assert.match(stdout, /\nnode-0 +seen-node-0-0-\w+ +Running/);
  assert.match(stdout, /Normal +Started +Pod\/seen-node-0-0/);
  assert.doesNotMatch(stdout, /Not shown/);

  const ascii = await runs("get", "trainjob/seen", "--ascii");
  assert.match(ascii.stdout, /^[\x20-\x7e\n]+$/);
  const { row, curves } = JSON.parse((await runs("get", "seen", "--json")).stdout);
  assert.equal(row.progress, 40);
  const loss = curves.metrics.find(({ name }: { name: string }) => name === "loss");
  assert.equal(loss.points.at(-1)[3], 0.75);
});

Deno.test("without the manager get shows what the objects say, and stop names what is missing", async () => {
  await standalone().client.create(KINDS.trainJob, trainJob("alone", "talks"));
  const elsewhere = ["--manager-service", "nobody"];
  const got = await runs("get", "alone", ...elsewhere);
  assert.equal(got.code, 0, got.stderr);
  assert.match(got.stdout, /^TrainJob default\/alone /);
  assert.match(got.stdout, /\nNot shown: no manager is found: the Service nobody in /);
  const { code, stdout, stderr } = await runs("stop", "alone", ...elsewhere);
  assert.deepEqual([code, stdout], [1, ""]);
  assert.match(stderr, /^milepost: no manager is found: the Service nobody in .*\n$/);
});

Deno.test("logs prints the lines of ranks, none of which steers the terminal", async () => {
  await talkingJob("heard");
  const all = await until("its lines", async () => {
    const { stdout } = await runs("logs", "heard");
    return stdout.includes("red") ? stdout : undefined;
  });
  assert.equal(all, "node-0 | hello\nnode-0 | wipe\nnode-0 | red\n");
  assert.equal((await runs("logs", "heard", "--rank", "0", "--tail", "1")).stdout, "red\n");
  const none = await runs("logs", "heard", "--rank", "7");
  assert.deepEqual([none.code, none.stderr], [
    2,
    "milepost: heard has no pod of rank 7 with a log\n",
  ]);
});

Deno.test("logs --previous prints what a container said before it was started again, --since what is young", async () => {
  const { client } = standalone();
  await client.create(
    KINDS.clusterTrainingRuntime,
    shellRuntime("crashes", CRASHES, {
      backoffLimit: 6,
      restartPolicy: "OnFailure",
    }),
  );
  await client.create(KINDS.trainJob, trainJob("again", "crashes"));
  const present = await until("its second start", async () => {
    const { stdout } = await runs("logs", "again");
    return stdout.includes("start 2") ? stdout : undefined;
  });
  assert.equal(present, "node-0 | start 2\n");
  assert.equal((await runs("logs", "again", "--previous")).stdout, "node-0 | start 1\n");
  assert.equal(
    (await runs("logs", "again", "-p", "--rank", "0", "--tail", "1")).stdout,
    "start 1\n",
  );
  assert.equal((await runs("logs", "again", "--since", "1h")).stdout, present);
  const young = await until("the line is old", async () => {
    const { code, stdout } = await runs("logs", "again", "--since", "1ms");
    return code === 0 && stdout === "";
  });
  assert.ok(young);
  await client.create(KINDS.trainJob, trainJob("once", "talks"));
  await until("its lines", async () => (await runs("logs", "once")).stdout.includes("red"));
  const { code, stderr } = await runs("logs", "once", "--previous");
  assert.deepEqual([code, stderr], [
    2,
    "milepost: once has no pods whose containers have restarted\n",
  ]);
});

Deno.test("logs --follow ends when the job has ended, and stop ends it", async () => {
  await talkingJob("stopped");
  await using following = atTerminal(milepostCommand("logs", "stopped", "-f"), env());
  await following.shows(/node-0 \| hello\r?\n/);
  const both = await runs("stop", "stopped", "--now", "--grace", "5");
  assert.deepEqual([both.code, both.stderr], [
    2,
    "milepost: --now and --grace: give one of them\n",
  ]);
  const why = ["--reason", "Enough", "--message", "seen enough", "--grace", "1m"];
  const stopped = await runs("stop", "stopped", ...why);
  assert.deepEqual([stopped.code, stopped.stdout], [
    0,
    "trainjob/stopped was told to stop (grace period: 60 s)\n",
  ]);
  const again = await runs("stop", "stopped", "--grace", "300");
  assert.match(
    again.stdout,
    /^trainjob\/stopped is being stopped already, \d+s left; a grace can only be shortened\n$/,
  );
  const now = await runs("stop", "stopped", "--now");
  assert.deepEqual([now.code, now.stderr], [0, ""]);
  const { client } = standalone();
  const job = await trainJobThat(
    client,
    "stopped",
    "is stopped",
    (it) => it.status?.state === "EarlyStopped",
  );
  const condition = job.status?.conditions?.find(({ type }) => type === "EarlyStopped");
  assert.deepEqual([condition?.reason, condition?.message], ["Enough", "seen enough"]);
  assert.equal(await following.ended(), 0);
});

Deno.test("top at a terminal: a job is looked at and stopped, and the screen is given back", async () => {
  await talkingJob("watched", "1s");
  await using screen = atTerminal(milepostCommand("top"), env());
  await screen.shows(/watched +Running +███░░░░░ +40 %/);
  await screen.type("/");
  await screen.type("watch");
  await screen.type("\r");
  await screen.type("\r");
  await screen.shows(/TrainJob default\/watched/);
  await screen.type("x");
  await screen.shows(/Stop default\/watched\? y: yes/);
  await screen.type("y");
  await screen.shows(/default\/watched was told to stop \(grace period: 1 s\)/);
  await screen.shows(/EarlyStopped/);
  await screen.type("\x1b");
  await screen.type("q");
  assert.equal(await screen.ended(), 0);
  assert.ok(screen.text().endsWith("\x1b[?25h\x1b[?1049l"), "the screen is given back");
});

Deno.test("top gives the screen back when it is interrupted", async () => {
  await using screen = atTerminal(milepostCommand("top", "-A"), env());
  await screen.shows(/all namespaces/);
  await screen.type("\x03");
  assert.equal(await screen.ended(), 0);
  assert.ok(screen.text().endsWith("\x1b[?25h\x1b[?1049l"));
});

Deno.test("a pipe whose reader has seen enough ends the command, and is no error", async () => {
  const { client } = standalone();
  await client.create(KINDS.trainJob, trainJob("piped", "chats"));
  await until("its lines", async () => (await runs("logs", "piped")).stdout.includes("hello"));
  const command = `set -o pipefail; ${milepostCommand("logs", "piped", "-f")} | head -n 1`;
  const { code, stdout, stderr } = await run("bash", { args: ["-c", command], env: env() });
  assert.deepEqual([code, stdout, stderr], [0, "node-0 | hello\n", ""]);
});

Deno.test("Ctrl-C ends a command whose cluster does not answer, as shells have it", async () => {
  const asked = Promise.withResolvers<void>();
  const over = Promise.withResolvers<Response>();
  const serving = { port: 0, hostname: "127.0.0.1", onListen: () => {} };
  const server = Deno.serve(serving, () => {
    asked.resolve();
    return over.promise;
  });
  try {
    const file = await changedKubeconfig(`http://127.0.0.1:${server.addr.port}`);
    await using screen = atTerminal(milepostCommand("get", "x"), { KUBECONFIG: file });
    await asked.promise;
    await screen.type("\x03");
    assert.equal(await screen.ended(), 130, screen.text());
    assert.doesNotMatch(screen.text(), /milepost:/);
  } finally {
    over.resolve(new Response());
    await server.shutdown();
  }
});

const WRONG: Readonly<Record<string, readonly [args: readonly string[], says: RegExp]>> = {
  "a job that is not there": [["get", "nope"], /there is no job nope in default$/m],
  "a name that is mistyped": [["logs", "haerd"], /no job haerd in default; did you mean heard\?$/m],
  "no job to stop": [["stop"], /^milepost: Which job\? `milepost get` lists them$/m],
  "no job whose logs are meant": [["logs"], /^milepost: Which job\? `milepost get` lists them$/m],
  "a job of all namespaces": [["get", "x", "-A"], /name one namespace, that of the job/],
  "a kind that is not known": [["get", "cronjob/x"], /no kind cronjob; known: trainjob, /],
  "no name": [["get", "trainjob/"], /is not NAME or KIND\/NAME/],
  "a log both followed and of before": [
    ["logs", "x", "-f", "-p"],
    /--previous and --follow exclude/,
  ],
  "an age that is none": [["logs", "x", "--since", "yesterday"], /must be a duration such as 90s/],
  "lines below none": [
    ["logs", "x", "--tail=-1"],
    /--tail: must be an integer from 0 to 100000/,
  ],
  "two namespaces for one job": [["get", "x", "-n", "a,b"], /name one namespace/],
  "a context that is not there": [["top", "--context", "nope"], /has no context nope/],
  "a reason that no condition can have": [
    ["stop", "x", "--reason", "Too long"],
    /--reason: must be the reason of a condition, such as Pruned/,
  ],
  "a grace that is none": [
    ["stop", "x", "--grace", "soon"],
    /--grace: must be seconds, or a duration/,
  ],
  "a shell that is not known": [["completion", "constructor"], /no completion for constructor/],
};

Deno.test("what an API server and a kubeconfig say cannot steer the terminal", async () => {
  const serving = { port: 0, hostname: "127.0.0.1", onListen: () => {} };
  const message = "\x1b[2Jwiped\u202e";
  const server = Deno.serve(
    serving,
    () => Response.json({ kind: "Status", code: 500, message }, { status: 500 }),
  );
  try {
    const file = await changedKubeconfig(`http://127.0.0.1:${server.addr.port}`);
    const { code, stderr } = await milepost(["get", "x"], { env: { KUBECONFIG: file } });
    assert.deepEqual([code, STEERS.test(stderr)], [1, false], stderr);
    assert.match(stderr, /\\u001b\[2Jwiped\\u202e/);
    const context = await runs("get", "x", "--context", message);
    assert.deepEqual([context.code, STEERS.test(context.stderr)], [2, false], context.stderr);
  } finally {
    await server.shutdown();
  }
});

for (const [what, [args, says]] of Object.entries(WRONG)) {
  Deno.test(`${what} is wrong use, and said in a line`, async () => {
    const { code, stdout, stderr } = await runs(...args);
    assert.deepEqual([code, stdout], [2, ""]);
    assert.match(stderr, says);
    assert.equal(stderr.trimEnd().split("\n").length, 1);
  });
}
