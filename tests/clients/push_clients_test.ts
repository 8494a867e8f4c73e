/** Tests of the clients of `examples/push/`: against a scripted endpoint, and from inside a TrainJob's pod. */
import assert from "node:assert/strict";
import { z } from "zod";
import { KINDS } from "../../crds/kinds.ts";
import { type CommandResult, run } from "../support/command.ts";
import { shareStandalone, shellRuntime, trainJob, trainJobThat } from "../support/standalone.ts";
import { CLIENTS, commandOf, documentedCommand, lacking } from "./push_clients.ts";
import {
  type Reply,
  type ScriptedEndpoint,
  scriptedEndpoint,
  tokenBefore,
} from "./scripted_endpoint.ts";

const work = await Deno.makeTempDir();
Deno.test.afterAll(() => Deno.remove(work, { recursive: true }));

const standalone = shareStandalone();

const commands = new Map<string, Promise<readonly string[]>>();
/** A client's command; it is built once for all tests. */
function command(client: string): Promise<readonly string[]> {
  const known = commands.get(client) ?? commandOf(client, work);
  commands.set(client, known);
  return known;
}

const TAKEN = { status: 200, body: { trainerStatus: {} } };
const FORBIDDEN = { status: 403, body: { kind: "Status", message: "not part of this TrainJob" } };
const AWAY = { status: 503, body: { kind: "Status", message: "nobody to take it" } };
const STOP = { stop: true, reason: "EarlyStopped", message: "loss is over 0.5" };
/** Looks like an order to stop, and is the name of a metric. */
const DECOY = '"control": {"stop": true}';

/** Few, so that a try on a machine under load does not take the 5 s that it has. */
const AT_ONCE = 2;

interface Case {
  readonly replies: readonly Reply[];
  readonly flags?: readonly string[];
  /** Before the client runs. */
  readonly before?: (endpoint: ScriptedEndpoint) => Promise<void>;
  readonly check: (result: CommandResult, endpoint: ScriptedEndpoint) => void;
}

function isQuiet({ code, stdout, stderr }: CommandResult): void {
  assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: "", stderr: "" });
}

const pushSchema = z.strictObject({
  trainerStatus: z.looseObject({ lastUpdatedTime: z.iso.datetime({ offset: true }) }),
  sequence: z.int().positive(),
  container: z.literal("node"),
});

const CASES: Readonly<Record<string, Case>> = {
  "sends what it was given, once": {
    replies: [TAKEN],
    flags: [
      "--progress",
      "40",
      "--remaining",
      "12",
      "--metric",
      "loss=0.25",
      "--metric",
      'a"b\\=c=d',
      "--step",
      "7",
    ],
    check: (result, { heard: [first, ...more] }) => {
      isQuiet(result);
      assert.equal(more.length, 0);
      assert.deepEqual([first?.method, first?.path], ["POST", "/the/path/status"]);
      assert.equal(first?.headers.contentType, "application/json");
      const { trainerStatus } = pushSchema.parse(first?.body);
      const { lastUpdatedTime: _, ...rest } = trainerStatus;
      assert.deepEqual(rest, {
        progressPercentage: 40,
        estimatedRemainingSeconds: 12,
        step: 7,
        metrics: [{ name: "loss", value: "0.25" }, { name: 'a"b\\', value: "c=d" }],
      });
    },
  },
  "tries again after a reset, 429 and 503, with the token of that moment": {
    replies: ["reset", { status: 429, headers: { "Retry-After": "1" } }, AWAY, TAKEN],
    flags: ["--progress", "41", "--patience", "100"],
    check: (result, { heard }) => {
      isQuiet(result);
      const tokens = heard.map(({ headers }) => headers.authorization);
      assert.deepEqual(tokens, [1, 2, 3, 4].map((it) => `Bearer ${tokenBefore(it)}`));
      for (const { body } of heard) assert.deepEqual(body, heard[0]?.body);
      const waited = (heard[2]?.arrivedMs ?? 0) - (heard[1]?.answeredMs ?? 0);
      assert.ok(waited >= 990, `it came again after ${waited} ms and not after a second`);
    },
  },
  "says what 403 answered, and does not try again": {
    replies: [FORBIDDEN],
    check: ({ code, stdout, stderr }, { heard }) => {
      assert.deepEqual([code, stdout, heard.length], [0, "", 1]);
      assert.match(stderr, /^milepost: progress was not taken: .*403.*not part of this TrainJob/);
      assert.equal(stderr.trimEnd().split("\n").length, 1);
    },
  },
  "prints why it must stop": {
    replies: [{ status: 200, body: { trainerStatus: {}, control: STOP } }],
    check: ({ code, stdout, stderr }) =>
      assert.deepEqual([code, stdout, stderr], [0, "EarlyStopped: loss is over 0.5\n", ""]),
  },
  "does not stop by a metric's name, nor by `stop: false`": {
    replies: [{
      status: 200,
      body: {
        trainerStatus: { metrics: [{ name: DECOY, value: "1" }] },
        control: { ...STOP, stop: false },
      },
    }],
    flags: ["--metric", `${DECOY}=1`],
    check: isQuiet,
  },
  "gives up after its patience": {
    replies: [AWAY],
    flags: ["--patience", "2"],
    check: ({ code, stderr }, { heard }) => {
      assert.equal(code, 0);
      assert.match(stderr, /503.*nobody to take it/);
      assert.ok(heard.length >= 1 && heard.length <= 8, `${heard.length} tries`);
    },
  },
  "gives up at once if Retry-After is longer than its patience": {
    replies: [{ status: 429, headers: { "Retry-After": "3600" }, body: { message: "too often" } }],
    check: ({ code, stderr }, { heard }) => {
      assert.deepEqual([code, heard.length], [0, 1]);
      assert.match(stderr, /429.*too often/);
    },
  },
  "does not wait for ever for an answer that drips": {
    replies: ["drip"],
    flags: ["--patience", "0"],
    check: ({ code, stdout, stderr }, { heard }) => {
      assert.deepEqual([code, stdout, heard.length], [0, "", 1]);
      assert.match(stderr, /progress was not taken/);
    },
  },
  "sends nothing to an endpoint of another authority": {
    replies: [TAKEN],
    flags: ["--patience", "0"],
    before: (endpoint) => endpoint.trustAnotherAuthority(),
    check: ({ code, stdout, stderr }, { heard }) => {
      assert.deepEqual([code, stdout, heard.length], [0, "", 0]);
      assert.match(stderr, /progress was not taken/);
    },
  },
  "ends with 2 on wrong usage": {
    replies: [TAKEN],
    flags: ["--metric", "loss"],
    check: ({ code, stderr }, { heard }) => {
      assert.deepEqual([code, heard.length], [2, 0]);
      assert.notEqual(stderr, "");
    },
  },
};

async function runCase(client: string, sentence: string, it: Case): Promise<void> {
  await using endpoint = await scriptedEndpoint(it.replies);
  await it.before?.(endpoint);
  const [program = "", ...args] = await command(client);
  const flags = it.flags ?? ["--progress", "5"];
  const env = { ...endpoint.env };
  const result = await run(program, { args: [...args, ...flags], env, timeoutMs: 120_000 });
  try {
    it.check(result, endpoint);
  } catch (error) {
    throw new Error(`it fails to be so that it ${sentence}: ${JSON.stringify(result)}`, {
      cause: error,
    });
  }
}

for (const client of CLIENTS) {
  const missing = await lacking(client);
  if (missing.length > 0) {
    // deno-lint-ignore no-console -- a word to whoever runs the tests
    console.log(`${client} is not tested: this machine lacks ${missing.join(" and ")}`);
  }
  Deno.test({
    name: `${client} pushes, tries again, gives up and stops as README.md says`,
    ignore: missing.length > 0,
    fn: async () => {
      const left = Object.entries(CASES);
      await Promise.all(Array.from({ length: AT_ONCE }, async () => {
        for (let next = left.shift(); next !== undefined; next = left.shift()) {
          await runCase(client, ...next);
        }
      }));
      const [program = "", ...args] = await command(client);
      // No variables: whoever runs these tests is in no pod.
      isQuiet(await run(program, { args: [...args, "--progress", "5"] }));
    },
  });
  Deno.test({
    name: `${client} shows its progress on the TrainJob in whose pod it runs`,
    ignore: missing.length > 0,
    fn: async () => {
      const flags = ["--progress", "100", "--remaining", "0", "--metric", "loss=0.25"];
      const documented = documentedCommand(client) ?? await command(client);
      const words = [...documented, ...flags].map((it) => `'${it}'`).join(" ");
      const name = client.toLowerCase().replaceAll(/[ .]+/g, "-");
      const { client: kube } = standalone();
      await kube.create(KINDS.clusterTrainingRuntime, shellRuntime(name, words));
      await kube.create(KINDS.trainJob, trainJob(name, name));
      const { status } = await trainJobThat(
        kube,
        name,
        "shows 100 %",
        (job) => job.status?.trainerStatus?.progressPercentage === 100,
      );
      assert.deepEqual(status?.trainerStatus?.metrics, [{ name: "loss", value: "0.25" }]);
      assert.equal(status?.trainerStatus?.estimatedRemainingSeconds, 0);
      await trainJobThat(kube, name, "completes", (job) => job.status?.state === "Complete");
    },
  });
}
