/** Tests of `milepost top` as it runs: what it reads, draws and does while keys come. */
import assert from "node:assert/strict";
import { runTop } from "../../terminal/run_top.ts";
import { LABELS } from "../../crds/names.ts";
import { JOB_KINDS, TRAINJOB } from "../../crds/job_kinds.ts";
import { TransportError } from "../../platform/kube/errors.ts";
import type { ShownPod } from "../../crds/wire/details.ts";
import type { JobRow } from "../../crds/wire/row.ts";
import type { SearchRow } from "../../crds/wire/searches.ts";
import { windowOf } from "../views/list/window_of_rows.ts";
import { type AskedOf, type MadeUp, withAnswers } from "../support/api_answers.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { until } from "../support/until.ts";
import { answeringClient } from "../support/answering_client.ts";

const rowOf = (name: string, state: JobRow["state"]): JobRow => ({
  uid: `uid-${name}`,
  kind: TRAINJOB.id,
  namespace: "ml",
  name,
  state,
  created: "2026-01-01T00:00:00Z",
});

const EARLIER = "2025-12-31T00:00:00Z";
const LATER = "2026-01-02T00:00:00Z";
const LATEST = "2026-01-03T00:00:00Z";

/** What is written last. */
const GIVEN_BACK = "\x1b[?25h\x1b[?1049l";

const trainJob = (name: string) => ({
  apiVersion: TRAINJOB.apiVersion,
  kind: "TrainJob",
  metadata: { name, namespace: "ml", uid: `uid-${name}` },
  spec: { runtimeRef: { name: "torch" } },
});

/** A top that runs, with one job. */
interface World {
  rows: JobRow[];
  /** The searches, or why they cannot be listed. */
  searches: SearchRow[] | Error;
  size: { columns: number; rows: number };
  /** The uids whose curves are followed. */
  readonly followed: Set<string>;
  /** How often the jobs were put in order. */
  ordered: number;
  /** The requests to the manager. */
  readonly stops: string[];
  /** Pods that are gone and whose logs are kept. */
  readonly kept: ShownPod[];
  /** Why the manager is not reached; empty: it is. */
  missingOfManager: string[];
  /** The lines of the screen as they are. */
  screen(): string[];
  /** All that was written. */
  written(): string;
  type(keys: string): void;
  changed(): void;
  /** Fails, as far as the screen hears of it. */
  crash(): void;
  resized(): void;
  /** Lets time pass by the steps of the test alone. */
  pause(): Promise<(ms: number) => Promise<void>>;
  readonly ended: Promise<void>;
}

async function withTop(
  answer: (asked: AskedOf) => MadeUp,
  work: (world: World) => Promise<void>,
): Promise<void> {
  await withAnswers(answer, async (client) => {
    const clock = new FakeClock();
    const over = new AbortController();
    const listeners = {
      input: (_: string) => {},
      resize: () => {},
      change: () => {},
      crash: () => {},
    };
    let [written, isRaw, isOver] = ["", false, false];
    const screen: string[] = [];
    const write = (text: string) => {
      written += text;
      // deno-lint-ignore no-control-regex
      for (const [, row, line = ""] of text.matchAll(/\x1b\[(\d+);1H\x1b\[2K([^\x1b]*)/g)) {
        screen[Number(row) - 1] = line;
      }
    };
    const seen = {
      rows: [rowOf("mnist", "Running")],
      size: { columns: 80, rows: 24 },
      searches: new Array<SearchRow>() as World["searches"],
      followed: new Set<string>(),
      ordered: 0,
      stops: new Array<string>(),
      kept: new Array<ShownPod>(),
      missingOfManager: new Array<string>(),
    };
    const ended = runTop({
      cluster: {
        client,
        kinds: JOB_KINDS,
        searches: {
          kinds: [],
          list: () =>
            seen.searches instanceof Error
              ? Promise.reject(seen.searches)
              : Promise.resolve({ searches: seen.searches, denied: [], absent: [] }),
          read: () => Promise.resolve(undefined),
        },
        keptPods: () => Promise.resolve(seen.kept),
        namespaces: ["ml"],
        list: {
          version: 0,
          window: (query) => {
            seen.ordered += 1;
            return windowOf(seen.rows, query);
          },
          onChange: (listener) => {
            listeners.change = listener;
            return () => {};
          },
          close: () => {},
        },
        ask: () => ({ retryAfterMs: 1_000, reason: "nobody asks" }),
        follow: ({ uid }, listener) => {
          seen.followed.add(uid);
          listener({ outage: { reason: "no manager can be reached" } });
          return () => seen.followed.delete(uid);
        },
        manager: () =>
          seen.missingOfManager.length > 0 ? undefined : answeringClient(({ path }) => {
            seen.stops.push(path);
            const refusal = { kind: "Status", code: 403, message: "you may not" };
            return Response.json(refusal, { status: 403 });
          }),
        missingOfManager: () => seen.missingOfManager,
        managerSearched: Promise.resolve(),
        isThere: () => true,
        missing: () => [],
      },
      terminal: {
        write,
        size: () => seen.size,
        setRaw: (raw) => isRaw = raw,
        onInput: (listener) => {
          listeners.input = listener;
          return Promise.resolve();
        },
        onResize: (listener) => listeners.resize = listener,
        onCrash: (listener) => listeners.crash = listener,
      },
      look: { characters: "unicode", colours: false },
      clock,
      signal: over.signal,
    }).finally(() => isOver = true);
    const world: World = Object.assign(seen, {
      screen: () => screen,
      written: () => written,
      type: (keys: string) => listeners.input(keys),
      changed: () => listeners.change(),
      resized: () => listeners.resize(),
      crash: () => listeners.crash(),
      pause: () => {
        isPaused = true;
        return passing.then(() => (ms: number) => clock.advance(ms));
      },
      ended,
    });
    let isPaused = false;
    let passing = pass();
    async function pass() {
      while (!isOver && !isPaused) await clock.advance(100);
    }
    try {
      await until("rows are drawn", () => screen.some((line) => line.startsWith("> mnist")));
      assert.ok(isRaw);
      await work(world);
    } finally {
      over.abort();
      isPaused = false;
      passing = passing.then(pass);
      await world.ended;
      await passing;
    }
    assert.ok(!isRaw && written.endsWith(GIVEN_BACK), "the screen is given back");
  });
}

const shows = (world: World, pattern: RegExp) =>
  until(`${pattern} on the screen`, () => world.screen().some((line) => pattern.test(line)));

Deno.test("a list that changes is drawn anew, and curves of what is on the screen are followed", () =>
  withTop(() => 404, async (world) => {
    world.rows = [...world.rows, { ...rowOf("bert", "Suspended"), created: EARLIER }];
    world.changed();
    await shows(world, /^. bert +Suspended/);
    await until("curves are followed", () => world.followed.has("uid-bert"));
    await shows(world, /^\? Not shown: no manager can be reached/);
    world.type("q");
    await world.ended;
  }));

const searchOf = (name: string, state: SearchRow["state"]): SearchRow => ({
  kind: "optimizationjobs.trainer.kubeflow.org",
  namespace: "ml",
  name,
  ...(state && { state }),
  counts: { total: 3, states: [["Running", 2], ["Complete", 1]] },
  objective: { metric: "loss", direction: "minimize" },
  best: { trial: `${name}-0`, value: "0.25" },
});

Deno.test("searches that run stand above the jobs, with their trials and the best, and that they cannot be read is told", () =>
  withTop(() => 404, async (world) => {
    world.searches = [searchOf("digits", "Running"), searchOf("over", "Complete")];
    await shows(world, /^digits +Running +3 trials: 2 Running, 1 Complete +loss +0\.25 digits-0/);
    assert.ok(!world.screen().some((line) => line.startsWith("over")));
    world.searches = new Error("the API server is gone");
    await shows(world, /searches: the API server is gone|and \d more/);
    world.searches = [];
    await until("there is none", () => !world.screen().some((line) => /^digits/.test(line)));
    world.type("q");
    await world.ended;
  }));

Deno.test("the bell rings when a job is stalled, once, and not for those that were before", () =>
  withTop(() => 404, async (world) => {
    const rings = () => world.written().split("\x07").length - 1;
    const stalled = { ...rowOf("old", "Running"), stalledSince: EARLIER };
    world.rows = [rowOf("mnist", "Running"), stalled];
    world.changed();
    await shows(world, /1 Stalled/);
    const before = rings();
    world.rows = [{ ...rowOf("mnist", "Running"), stalledSince: EARLIER }, stalled];
    world.changed();
    await shows(world, /2 Stalled/);
    world.rows = [...world.rows, rowOf("bert", "Running")];
    world.changed();
    await shows(world, /^. bert /);
    assert.equal(rings(), before + 1);
    world.type("q");
    await world.ended;
  }));

Deno.test("what the jobs on the screen wait for is told, and that it cannot be read", () => {
  let fails = false;
  const waiting = { reason: "ImagePullBackOff", message: "no such image" };
  const pod = {
    metadata: { name: "p", namespace: "ml", labels: { [LABELS.trainJobName]: "bert" } },
    spec: { containers: [{ name: "node", image: "bert:1" }] },
    status: {
      phase: "Pending",
      containerStatuses: [
        { name: "node", image: "bert:1", ready: false, restartCount: 0, state: { waiting } },
      ],
    },
  };
  return withTop(
    ({ path }) => fails ? 500 : path.endsWith("/pods") ? { metadata: {}, items: [pod] } : 404,
    async (world) => {
      world.rows = [...world.rows, rowOf("bert", "Created")];
      world.changed();
      await shows(world, /^ {2}bert +Created +waits for image bert:1: Imag/);
      fails = true;
      world.type("?");
      await shows(world, /^Not shown: what jobs wait for: InternalError/);
    },
  );
});

Deno.test("a job that is looked at is read, and alone followed; a stop that is refused is told", () =>
  withTop(
    ({ path }) => path.endsWith("/trainjobs/mnist") ? trainJob("mnist") : 403,
    async (world) => {
      world.rows = [...world.rows, { ...rowOf("bert", "Running"), created: EARLIER }];
      world.changed();
      world.type("\r");
      await shows(world, /^TrainJob ml\/mnist {2}Created/);
      await shows(world, /^Not shown: the user may not list pods in ml\.$/);
      await until("only its curves are followed", () => [...world.followed].join() === "uid-mnist");
      world.type("x");
      await shows(world, /^Stop ml\/mnist\? y: yes/);
      assert.deepEqual(world.stops, []);
      world.type("y");
      await shows(world, /^Could not stop ml\/mnist: .*you may not/);
      assert.equal(world.stops.length, 1);
      world.missingOfManager = ["no manager is found"];
      world.type("x");
      await shows(world, /^Stop ml\/mnist\?/);
      world.type("y");
      await shows(world, /^Could not stop ml\/mnist: no manager is found$/);
    },
  ));

Deno.test("a question is answered by nobody who has not seen it, nor by what is pasted", () =>
  withTop(() => 403, async (world) => {
    world.type("export https_proxy=http://proxy");
    await shows(world, /^Stop ml\/mnist\? y: yes/);
    world.type("\x1b[200~yes\r\x1b[201~");
    world.type("n");
    await shows(world, /^> mnist/);
    world.type("\x1b[200~x");
    world.type("q\x1b[201~/\x1b[200~mn\r\x1b[201~");
    await shows(world, /^\/mn_/);
    assert.deepEqual(world.stops, []);
  }));

Deno.test("a key is for the job that was seen under the cursor, though another has come into its row", () =>
  withTop(() => 403, async (world) => {
    world.rows = [{ ...rowOf("newer", "Running"), created: LATER }, ...world.rows];
    world.changed();
    await shows(world, /^ {2}newer/);
    await shows(world, /^> mnist/);
    world.rows = [{ ...rowOf("newest", "Running"), created: LATEST }, ...world.rows];
    world.type("x");
    await shows(world, /^Stop ml\/mnist\? y: yes/);
    world.type("n");
    await shows(world, /^> mnist/);
    await shows(world, /^ {2}newest/);
  }));

Deno.test("y shows the object of a job, and a key that does nothing says so", () =>
  withTop(
    ({ path }) => path.endsWith("/trainjobs/mnist") ? trainJob("mnist") : 403,
    async (world) => {
      world.type(":");
      await shows(world, /^: does nothing here; \? shows all keys$/);
      world.type("y");
      await shows(world, /^ {4}name: torch$/);
      world.type("\x15");
      await shows(world, /^ctrl-u does nothing here/);
    },
  ));

Deno.test("s suspends a job, after a question, as its reader and no other job of its name", () => {
  const bodies: unknown[] = [];
  return withTop(({ method, path, body }) => {
    if (method !== "PATCH") return path.endsWith("/trainjobs/mnist") ? trainJob("mnist") : 403;
    bodies.push(body);
    return bodies.length === 1 ? 403 : trainJob("mnist");
  }, async (world) => {
    world.type("s");
    await shows(world, /^Suspend ml\/mnist\? y: yes/);
    world.type("y");
    await shows(world, /^Could not suspend ml\/mnist: Forbidden/);
    world.type("s");
    await shows(world, /^Suspend ml\/mnist\?/);
    world.type("y");
    await shows(world, /^ml\/mnist is being suspended\.$/);
    const body = { metadata: { uid: "uid-mnist" }, spec: { suspend: true } };
    assert.deepEqual(bodies, [body, body]);
  });
});

/** The answers about a job with one pod, whose log is this. */
const logged = (log: () => string) => ({ path }: AskedOf): MadeUp => {
  if (path.endsWith("/log")) return new Response(log());
  if (path.endsWith("/trainjobs/mnist")) {
    const conditions = [{ type: "Failed", status: "True", reason: "Bad", message: "of no use" }];
    return { ...trainJob("mnist"), status: { conditions } };
  }
  const metadata = { name: "mnist-node-0", namespace: "ml", uid: "pod" };
  const pod = { apiVersion: "v1", kind: "Pod", metadata, spec: { containers: [{ name: "node" }] } };
  const status = {
    phase: "Succeeded",
    containerStatuses: [{ name: "node", image: "", imageID: "", ready: true, restartCount: 1 }],
  };
  if (path.endsWith("/pods")) {
    return { kind: "PodList", metadata: { resourceVersion: "1" }, items: [{ ...pod, status }] };
  }
  return path.endsWith("/mnist-node-0") ? { ...pod, status } : 403;
};

Deno.test("l shows the log as it comes, p that of before; its lines are wrapped and steer nothing", () => {
  const line = (index: number, text: string) =>
    `2026-01-01T00:00:${String(10 + index)}.000000000Z ${text}\n`;
  let log = Array.from({ length: 40 }, (_, index) => line(index, `line ${index}`)).join("") +
    line(45, `\x1b[2J${"word ".repeat(30)}end`);
  return withTop(logged(() => log), async (world) => {
    world.type("l");
    await shows(world, /^ml\/mnist {2}Running {2}log +$/);
    await shows(world, /word end$/);
    await shows(world, /^\* The log has ended\.$/);
    assert.ok(!world.screen().some((it) => /\bline 0$/.test(it)), "the end is shown");
    world.type("\x1b[H");
    await shows(world, /^mnist-node-0 \| line 0$/);
    log = line(0, "of before");
    world.type("p");
    await shows(world, /^ml\/mnist {2}Running {2}log before the last restart +$/);
    await shows(world, /^mnist-node-0 \| of before$/);
    world.type("d");
    await shows(world, /^- +Failed +True +Bad$/);
    await shows(world, /^ {6}of no use$/);
    world.type("\x1b");
    await shows(world, /^> mnist/);
  });
});

Deno.test("l shows the kept log of a pod that is gone", () => {
  const answer = (asked: AskedOf): MadeUp =>
    asked.path.endsWith("/pods")
      ? { kind: "PodList", metadata: { resourceVersion: "1" }, items: [] }
      : logged(() => "2026-01-01T00:00:10.000000000Z last words\n")(asked);
  return withTop(answer, async (world) => {
    world.kept.push({
      uid: "pod",
      name: "mnist-node-0",
      phase: "Failed",
      restarts: 0,
      containers: ["node"],
      gone: true,
    });
    world.type("l");
    await shows(world, /^mnist-node-0 \| last words$/);
  });
});

Deno.test("a log that cannot be read says why, and takes nothing else away", () =>
  withTop(({ path }) => path.endsWith("/pods") ? 403 : trainJob("mnist"), async (world) => {
    world.type("l");
    await shows(world, /^\* The log cannot be read: Forbidden/);
    world.type("\x1b");
    await shows(world, /^> mnist/);
  }));

Deno.test("what a key changes is drawn at once, and not with the next look at curves", () =>
  withTop(() => 404, async (world) => {
    world.rows = [...world.rows, { ...rowOf("bert", "Running"), created: EARLIER }];
    world.changed();
    await shows(world, /^. bert/);
    const pass = await world.pause();
    for (let times = 0; times < 10; times++) {
      for (const [key, row] of [["j", "> bert"], ["k", "> mnist"]] as const) {
        world.type(key);
        await pass(100);
        assert.ok(world.screen().some((line) => line.startsWith(row)), `${key} ${times}`);
      }
    }
  }));

Deno.test("an arrow that comes in two parts is one key, and Esc alone needs no other", () =>
  withTop(() => 403, async (world) => {
    world.rows = [...world.rows, { ...rowOf("bert", "Running"), created: EARLIER }];
    world.changed();
    await shows(world, /^. bert/);
    world.type("\x1b");
    world.type("[B");
    await shows(world, /^> bert/);
    world.type("\r");
    await shows(world, /^The job cannot be read: /);
    world.type("\x1b");
    await shows(world, /^> bert/);
  }));

Deno.test("a job that cannot be read says so, in words", () =>
  withTop(() => 404, async (world) => {
    world.type("\r");
    await shows(world, /^The job cannot be read: /);
    world.type("\x1b");
    await shows(world, /^> mnist/);
  }));

Deno.test("another size of the terminal draws everything anew", () =>
  withTop(() => 404, async (world) => {
    world.size = { columns: 20, rows: 5 };
    world.screen().length = 0;
    world.resized();
    await shows(world, /^> mnist/);
    assert.ok(world.written().includes("\x1b[2J"));
    assert.ok(world.screen().every((line) => line.length <= 20));
  }));

Deno.test("an end from outside, as by a signal, ends all that runs", () =>
  withTop(() => {
    throw new TransportError("nobody asks");
  }, () => Promise.resolve()));

Deno.test("a crash gives the screen back at once, and nothing is drawn on it any more", () =>
  withTop(() => 404, async (world) => {
    world.crash();
    const { length } = world.written();
    assert.ok(world.written().endsWith(GIVEN_BACK));
    world.type("?");
    const { ordered } = world;
    await until("the list is read anew", () => world.ordered > ordered);
    assert.equal(world.written().length, length);
  }));

Deno.test("ten thousand jobs that change cost a drawing of what is on the screen", () =>
  withTop(() => 404, async (world) => {
    const nameOf = (index: number) => `job-${String(index).padStart(4, "0")}`;
    world.rows = Array.from({ length: 10_000 }, (_, index) => rowOf(nameOf(index), "Running"));
    world.changed();
    await shows(world, /10000 jobs: 10000 Running/);
    world.type("\x1b[F");
    await shows(world, /^> job-9999/);
    await until("its curves are followed", () => world.followed.has("uid-job-9999"));
    assert.equal(world.followed.size, 21);
    const [before, ordered] = [world.written().length, world.ordered];
    for (const row of world.rows) {
      world.rows[Number(row.name.slice(4))] = { ...row, state: "Complete" };
      world.changed();
    }
    await shows(world, /10000 jobs: 10000 Complete/);
    assert.ok(world.written().length - before < 24 * 200, "each line is drawn about once");
    assert.ok(
      world.ordered - ordered < 100,
      `they were put in order ${world.ordered - ordered} times`,
    );
  }));
