/** Tests of logs that are followed: over cuts, restarts and outages, each line once. */
import assert from "node:assert/strict";
import { type LogChoice, printLogs } from "../../terminal/followed_logs.ts";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import { JOB_KEYS } from "../../crds/job_names.ts";
import { JOBSET_KEYS } from "../../crds/jobset_names.ts";
import { type AskedOf, type MadeUp, withAnswers } from "../support/api_answers.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { until } from "../support/until.ts";

const JOB = { kind: TRAINJOB, namespace: "ml", name: "mnist", uid: "u1" };
const POD = "mnist-node-0-0-abcde";

/** What the API server says at the moment. */
interface World {
  phase: string;
  jobState: string | undefined;
  /** Answers to readings of the log, the first one first; the last one stays. */
  logs: MadeUp[];
  isDown: boolean;
  /** How many, or their names. Default: one. */
  pods?: number | readonly string[];
  /** How often the container of a pod was started again. */
  restarts?: Readonly<Record<string, number>>;
  /** The container of a pod. Default: node. */
  containers?: Readonly<Record<string, string>>;
}

/** Of a pod whose name begins with its rank. */
const labelsOf = (name: string) => {
  const [, group, place] = /^(node|launcher)-(\d)$/.exec(name) ?? [];
  return group === undefined ? {} : {
    [JOBSET_KEYS.replicatedJobName]: group,
    [JOB_KEYS.completionIndex]: place,
  };
};

const pod = ({ phase, restarts = {}, containers = {} }: World, name = POD) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "ml", uid: `uid-${name}`, labels: labelsOf(name) },
  spec: { containers: [{ name: containers[name] ?? "node" }] },
  status: {
    phase,
    containerStatuses: [{
      name: "node",
      image: "none",
      imageID: "",
      ready: true,
      restartCount: restarts[name] ?? 0,
    }],
  },
});

function answered(world: World, { path, query }: AskedOf): MadeUp {
  if (world.isDown) return 500;
  if (path.endsWith("/log")) {
    const [next = 404, ...others] = world.logs;
    if (others.length > 0) world.logs = others;
    return next instanceof Response ? next.clone() : next;
  }
  const [, name] = /\/pods\/([^/]+)$/.exec(path) ?? [];
  if (name !== undefined) return pod(world, name);
  if (path.endsWith("/pods")) {
    const { pods = 1 } = world;
    const [from, limit] = ["continue", "limit"].map((it) => Number(query.get(it) ?? 0));
    const names = typeof pods === "number"
      ? Array.from({ length: pods }, (_, index) => index === 0 ? POD : `pod-${index}`)
      : pods;
    const to = Math.min(names.length, (from ?? 0) + (limit ?? 0));
    return {
      kind: "PodList",
      metadata: { resourceVersion: "1", ...(to < names.length && { continue: String(to) }) },
      items: names.slice(from, to).map((it) => pod(world, it)),
    };
  }
  if (!path.endsWith("/trainjobs/mnist")) return 404;
  const ended = { type: "Complete", status: "True", reason: "Done", message: "" };
  return {
    apiVersion: TRAINJOB.apiVersion,
    kind: "TrainJob",
    metadata: { name: "mnist", namespace: "ml", uid: "u1" },
    spec: { runtimeRef: { name: "torch" } },
    ...(world.jobState === "Complete" && {
      status: { conditions: [{ ...ended, lastTransitionTime: "2026-01-01T00:00:00Z" }] },
    }),
  };
}

const line = (second: number, text: string) =>
  `2026-01-01T00:00:${String(second).padStart(2, "0")}.5Z ${text}\n`;

async function follow(
  world: World,
  work: (seen: { lines: string[]; warned: string[]; asked: readonly AskedOf[] }) => Promise<void>,
  wish: Partial<LogChoice> = {},
): Promise<void> {
  await withAnswers((asked) => answered(world, asked), async (client, asked) => {
    const clock = new FakeClock();
    const over = new AbortController();
    const [lines, warned]: string[][] = [[], []];
    const parts = {
      client,
      clock,
      random: () => 1,
      signal: over.signal,
      print: (text: string) => void lines?.push(text),
      warn: (text: string) => void warned?.push(text),
    };
    let isDone = false;
    const done = printLogs(JOB, { rank: undefined, follow: true, tail: 100, ...wish }, parts)
      .finally(() => isDone = true);
    try {
      const seen = work({ lines: lines ?? [], warned: warned ?? [], asked });
      const both = Promise.all([seen, done]);
      // Who ends early is waited for below.
      both.catch(() => {});
      while (!isDone) await clock.advance(500);
      await both;
    } finally {
      over.abort();
    }
  });
}

Deno.test("a log that is cut is read on, and none of its lines comes twice", async () => {
  const world: World = {
    phase: "Running",
    jobState: undefined,
    isDown: false,
    logs: [
      new Response(line(1, "one") + line(2, "two")),
      500,
      new Response(line(2, "two") + line(2, "two again") + line(3, "three")),
    ],
  };
  await follow(world, async ({ lines, asked, warned }) => {
    await until("the third line", () => lines.some((it) => it.endsWith("three")));
    [world.phase, world.jobState] = ["Succeeded", "Complete"];
    const read = () => asked.filter(({ path }) => path.endsWith("/log"));
    await until("it was read to its end", () => read().length > 3);
    assert.deepEqual(
      lines.map((it) => it.split("| ")[1]),
      ["one", "two", "two again", "three"],
    );
    assert.deepEqual(read().slice(0, 2).map(({ query }) => query.get("sinceTime")), [
      null,
      "2026-01-01T00:00:02.500Z",
    ]);
    assert.deepEqual(warned, []);
  });
});

Deno.test("a log whose last known line is gone shows that lines may be missing", async () => {
  const world: World = {
    phase: "Running",
    jobState: undefined,
    isDown: false,
    logs: [new Response(line(1, "one")), new Response(line(9, "of a restarted container"))],
  };
  await follow(world, async ({ lines }) => {
    await until("the lines", () => lines.length > 2);
    [world.phase, world.jobState] = ["Failed", "Complete"];
    assert.match(lines[1] ?? "", /lines may be missing/);
  });
});

Deno.test("an outage of the API server is told once, and followed logs go on behind it", async () => {
  const world: World = {
    phase: "Running",
    jobState: undefined,
    isDown: false,
    logs: [new Response(line(1, "before"))],
  };
  await follow(world, async ({ lines, warned }) => {
    await until("the first line", () => lines.length === 1);
    world.isDown = true;
    await until("the outage is told", () => warned.length > 0);
    world.logs = [new Response(line(1, "before") + line(2, "behind"))];
    world.isDown = false;
    await until("the next line", () => lines.length === 2);
    [world.phase, world.jobState] = ["Succeeded", "Complete"];
    assert.equal(warned.length, 1);
    assert.match(warned[0] ?? "", /^the API server cannot be asked now: /);
  });
});

for (const wish of [{ follow: true }, { follow: false }]) {
  Deno.test(`a container that no pod has is wrong use, with those that they have: ${JSON.stringify(wish)}`, () =>
    assert.rejects(
      follow(
        { phase: "Running", jobState: undefined, isDown: false, logs: [400] },
        async () => {},
        {
          container: "sidecar",
          ...wish,
        },
      ),
      {
        name: "ConfigurationError",
        message: "mnist has no container sidecar: its pods have node",
      },
    ));
}

Deno.test("a container is waited for while only pods of initializers are there", async () => {
  const world: World = {
    phase: "Running",
    jobState: undefined,
    isDown: false,
    logs: [new Response(line(1, "trained"))],
    containers: { "mnist-data": "dataset-initializer" },
    pods: ["mnist-data"],
  };
  await follow(world, async ({ lines, warned }) => {
    await until("it is told", () => warned.length > 0);
    assert.deepEqual(warned, ["mnist-data has no container node: it has dataset-initializer"]);
    world.pods = ["mnist-data", POD];
    await until("the line", () => lines.length === 1);
    [world.phase, world.jobState] = ["Succeeded", "Complete"];
  }, { container: "node" });
});

Deno.test("a log that may not be read is told, and not tried again", async () => {
  const world: World = { phase: "Running", jobState: "Complete", isDown: false, logs: [403] };
  await follow(world, async ({ warned, asked }) => {
    await until("it is told", () => warned.length > 0);
    assert.match(warned[0] ?? "", new RegExp(`^the log of ${POD} cannot be read: `));
    assert.equal(asked.filter(({ path }) => path.endsWith("/log")).length, 1);
  });
});

Deno.test("logs beyond a hundred that are followed are told, and come when others have ended", async () => {
  const world: World = {
    phase: "Running",
    jobState: undefined,
    isDown: false,
    logs: [new Response(line(1, "hello"))],
    pods: 103,
  };
  await follow(world, async ({ lines, warned }) => {
    await until("the first hundred", () => lines.length === 100);
    await until("it is told", () => warned.length > 0);
    [world.phase, world.jobState] = ["Succeeded", "Complete"];
    await until("the others", () => new Set(lines).size === 103);
    assert.deepEqual(warned, [
      "100 logs are followed at a time: others begin when some of them end",
    ]);
  });
});

const READ: Readonly<
  Record<string, readonly [rank: string | undefined, lines: readonly string[]]>
> = {
  "of all ranks stand behind their ranks, in their order": [undefined, [
    "launcher-0 | hi",
    "node-0     | hi",
    "node-1     | hi",
  ]],
  "of a number stand so if it is that of several": ["0", ["launcher-0 | hi", "node-0     | hi"]],
  "of one rank stand alone": ["node-0", ["hi"]],
};
for (const [what, [rank, want]] of Object.entries(READ)) {
  Deno.test(`lines ${what}`, async () => {
    const logs = [new Response(line(1, "hi"))];
    const pods = ["node-1", "node-0", "launcher-0"];
    const world: World = { phase: "Running", jobState: undefined, isDown: false, logs, pods };
    await follow(world, async ({ lines }) => {
      await until("the lines", () => lines.length === want.length);
      assert.deepEqual(lines, want);
    }, { rank, follow: false });
  });
}

Deno.test("pods beyond a thousand are told, also where the rank is among them", async () => {
  const world: World = {
    phase: "Running",
    jobState: "Complete",
    isDown: false,
    logs: [],
    pods: 1_001,
  };
  await follow(world, async ({ warned }) => {
    await until("it is told", () => warned.length > 0);
    assert.deepEqual(warned, ["of mnist only 1000 pods are looked at: it has more"]);
  }, { rank: "node-7" });
});

const WISHES: Readonly<Record<string, readonly [Partial<LogChoice>, string]>> = {
  "of lines before the end": [{ tail: 7 }, "tailLines=7&container=node&timestamps=true"],
  "of a time": [
    { since: "2026-01-01T00:00:00.000Z" },
    "tailLines=100000&container=node&sinceTime=2026-01-01T00:00:00.000Z&timestamps=true",
  ],
  "of both": [
    { since: "2026-01-01T00:00:00.000Z", tail: 7 },
    "tailLines=7&container=node&sinceTime=2026-01-01T00:00:00.000Z&timestamps=true",
  ],
};
for (const [what, [wish, want]] of Object.entries(WISHES)) {
  Deno.test(`what is asked of the API server for a log ${what}`, async () => {
    const logs = [new Response(line(1, "one"))];
    const world: World = { phase: "Running", jobState: undefined, isDown: false, logs };
    await follow(world, async ({ asked, lines }) => {
      await until("the line", () => lines.length === 1);
      const { query } = asked.find(({ path }) => path.endsWith("/log")) ?? {};
      query?.delete("limitBytes");
      assert.equal(decodeURIComponent(String(query)), want);
    }, { follow: false, tail: undefined, ...wish });
  });
}

Deno.test("of logs before the last start only those of containers that were started again are read", async () => {
  const world: World = {
    phase: "Running",
    jobState: undefined,
    isDown: false,
    logs: [new Response(line(1, "before"))],
    pods: ["node-0", "node-1"],
    restarts: { "node-1": 2 },
  };
  await follow(world, async ({ asked, lines }) => {
    await until("the line", () => lines.length === 1);
    assert.deepEqual(lines, ["node-1 | before"]);
    const read = asked.filter(({ path }) => path.endsWith("/log"));
    assert.deepEqual(
      read.map(({ path, query }) => [path.split("/").at(-2), query.get("previous")]),
      [
        ["node-1", "true"],
      ],
    );
  }, { follow: false, previous: true });
});
