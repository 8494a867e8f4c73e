/** Tests of the jobs that one user may list: everywhere, in some namespaces, and as rights and views change. */
import assert from "node:assert/strict";
import { createUserJobs } from "../../../page/user_cluster/user_jobs.ts";
import { JOB_KINDS, TRAINJOB } from "../../../crds/job_kinds.ts";
import { LIST_LIMITS } from "../../../crds/wire/list_query.ts";
import { type AskedOf, type MadeUp, withAnswers } from "../../support/api_answers.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { trainJob } from "../../support/standalone.ts";
import { until } from "../../support/until.ts";

const BASE = `/apis/${TRAINJOB.apiVersion}`;
const LIST = new RegExp(`^${BASE}(?:/namespaces/([^/]+))?/trainjobs$`);

interface World {
  readonly jobs: ReturnType<typeof createUserJobs>;
  readonly clock: FakeClock;
  /** The namespaces in which the user may list; "" for all. */
  readonly allowed: Set<string>;
  /** The namespaces that were listed. */
  readonly listed: string[];
  readonly asked: readonly AskedOf[];
  /** `discovery`: what is said of a group's kinds. `isSlow`: lists do not come. `isDown`: nothing does. */
  readonly api: { discovery: MadeUp; isDown: boolean; isSlow?: boolean };
  names(): string[];
  /** Ends all watches. */
  cut(): void;
}

/** A watch that says nothing until it is cut. */
const silence = (watches: ReadableStreamDefaultController[]) =>
  new Response(new ReadableStream({ start: (it) => void watches.push(it) }));

async function withJobs(
  allowed: string[],
  namespaces: string[],
  work: (world: World) => Promise<void>,
  isDown = false,
): Promise<void> {
  const clock = new FakeClock();
  const listed: string[] = [];
  const watches: ReadableStreamDefaultController[] = [];
  const api: World["api"] = { discovery: { resources: [{ name: "trainjobs" }] }, isDown };
  const answer = ({ path, query }: AskedOf): MadeUp => {
    if (api.isDown) return 500;
    if (path === BASE) return api.discovery;
    const [, namespace = ""] = LIST.exec(path) ?? [undefined, undefined];
    if (!LIST.test(path)) return 404;
    if (query.has("watch")) return silence(watches);
    if (api.isSlow) return 429;
    listed.push(namespace);
    const items = (namespace === "" ? ["a", "b"] : [namespace]).map((it) => ({
      ...trainJob(`of-${it}`, "idle", { namespace: it }),
      metadata: { name: `of-${it}`, namespace: it, uid: it, resourceVersion: "1" },
    }));
    return { apiVersion: TRAINJOB.apiVersion, metadata: { resourceVersion: "1" }, items };
  };
  await withAnswers(answer, async (client, asked) => {
    const rights = new Set(allowed);
    const jobs = createUserJobs({
      client,
      clock,
      kinds: JOB_KINDS,
      rights: { may: ({ namespace = "" }) => Promise.resolve(rights.has(namespace)) },
      namespaces,
      random: () => 1,
    });
    const world: World = {
      jobs,
      clock,
      allowed: rights,
      listed,
      asked,
      api,
      cut: () => watches.splice(0).forEach((it) => it.close()),
      names: () =>
        (jobs.caches.get(TRAINJOB)?.list() ?? []).map(({ metadata }) => metadata.name ?? "").sort(),
    };
    const stop = new AbortController();
    const running = jobs.run(stop.signal);
    try {
      await jobs.polled;
      await work(world);
    } finally {
      stop.abort();
      await running;
    }
  });
}

const hold = ({ jobs }: World, namespace?: string) =>
  jobs.ensureCached({ kind: TRAINJOB, ...(namespace !== undefined && { namespace }) });
const named = (world: World, ...names: string[]) =>
  until(`${names} are there`, () => world.names().join() === names.join());

Deno.test("a user who may list all has one list of each kind that is served", () =>
  withJobs([""], ["a"], async (world) => {
    assert.equal(await hold(world), true);
    assert.deepEqual(world.names(), ["of-a", "of-b"]);
    assert.deepEqual(world.listed, [""]);
    const { caches, missing } = world.jobs;
    const resting = [...caches].filter(([, it]) => it.resting).map(([{ id }]) => id);
    assert.equal(resting.length, JOB_KINDS.all.length - 1);
    assert.deepEqual(missing(), []);
    assert.ok([...caches.values()].every(({ synced }) => synced));
  }));

Deno.test("jobs that were not read in time are named until they are there", () =>
  withJobs(["a", "c"], ["a"], async (world) => {
    await named(world, "of-a");
    world.api.isSlow = true;
    const held = hold(world, "c");
    await until("it is asked for", async () => {
      await world.clock.advance(1_000);
      return world.jobs.missing().length > 0;
    });
    assert.equal(await held, true);
    assert.deepEqual(world.jobs.missing(), ["trainjobs are still being read"]);
    world.api.isSlow = false;
    await until("they are there", async () => {
      await world.clock.advance(1_000);
      return world.jobs.missing().length === 0;
    });
    assert.deepEqual(world.names(), ["of-a", "of-c"]);
  }));

Deno.test("a user of some namespaces has their jobs, and others as they are looked at", () =>
  withJobs(["a", "c"], ["a", "b"], async (world) => {
    await named(world, "of-a");
    assert.equal(await hold(world, "c"), true);
    assert.deepEqual(world.names(), ["of-a", "of-c"]);
    assert.deepEqual(world.listed, ["a", "c"], "one that it may not list is not asked for");
  }));

Deno.test("jobs go with the right to list them, and come with it", () =>
  withJobs(["a", "b"], ["a", "b"], async (world) => {
    await named(world, "of-a", "of-b");
    const gone: string[] = [];
    world.jobs.caches.get(TRAINJOB)?.onChange(({ type, object }) => {
      if (type === "left") gone.push(object.metadata.name ?? "");
    });
    world.allowed.delete("b");
    await world.clock.advance(73_000);
    await named(world, "of-a");
    assert.deepEqual(gone, ["of-b"]);
    world.allowed.add("b");
    await world.clock.advance(73_000);
    await named(world, "of-a", "of-b");
  }));

Deno.test("one namespace too many takes the place of one that nobody looks at any more", () => {
  const all = Array.from({ length: LIST_LIMITS.namespaces + 1 }, (_, index) => `n${index}`);
  return withJobs(all, ["n0"], async (world) => {
    for (const it of all.slice(1, -1)) assert.equal(await hold(world, it), true);
    const last = all.at(-1) ?? "";
    assert.equal(await hold(world, last), false);
    await world.clock.advance(100_000);
    for (const it of all.slice(2, -1)) assert.equal(await hold(world, it), true);
    await world.clock.advance(30_000);
    assert.equal(await hold(world, last), true);
    const names = world.names();
    assert.ok(names.includes(`of-${last}`) && names.includes("of-n0") && !names.includes("of-n1"));
  });
});

Deno.test("an API server that cannot be asked is named, and what is there stays", () =>
  withJobs([""], [], async (world) => {
    await named(world, "of-a", "of-b");
    world.api.isDown = true;
    await world.clock.advance(73_000);
    await until("it is said", () => /cannot be asked now/.test(world.jobs.missing().join()));
    assert.deepEqual(world.names(), ["of-a", "of-b"]);
    world.api.isDown = false;
    await world.clock.advance(40_000);
    await until("it is said no more", () => world.jobs.missing().length === 0);
  }));

Deno.test("an API server that cannot be asked at first is named at once", () =>
  withJobs(["a"], ["a"], ({ jobs }) => {
    assert.match(jobs.missing().join(), /cannot be asked now/);
    return Promise.resolve();
  }, true));

Deno.test("no kind is whole by one namespace that was asked for, before it is known what the user may list", () =>
  withJobs(["a", "c"], ["a"], async (world) => {
    world.api.discovery = 500;
    world.api.isDown = false;
    const cache = world.jobs.caches.get(TRAINJOB);
    assert.equal(await hold(world, "c"), true);
    await cache?.whenSynced();
    assert.deepEqual(world.names(), ["of-a", "of-c"]);
    assert.deepEqual(world.listed.toSorted(), ["a", "c"]);
  }, true));

Deno.test("an API server that is gone is named within seconds of its last word, and so is its return", () =>
  withJobs([""], [], async (world) => {
    await named(world, "of-a", "of-b");
    world.api.isDown = true;
    world.cut();
    await until("it is said", async () => {
      await world.clock.advance(500);
      return /cannot be asked now/.test(world.jobs.missing().join());
    });
    assert.ok(world.clock.monotonic() < 15_000, `it took ${world.clock.monotonic()} ms`);
    world.api.isDown = false;
    await world.clock.advance(15_000);
    await until("it is said no more", () => world.jobs.missing().length === 0);
  }));

Deno.test("a namespace in which the user may list no jobs is named, until it may", () =>
  withJobs(["b"], ["a", "b"], async (world) => {
    await named(world, "of-b");
    assert.deepEqual(world.jobs.missing(), ["the user may not list jobs in a"]);
    world.allowed.add("a");
    await world.clock.advance(73_000);
    await named(world, "of-a", "of-b");
    assert.deepEqual(world.jobs.missing(), []);
  }));

Deno.test("a cluster without a kind of jobs is named as such, and one who may not ask is taken at the lists' word", () =>
  withJobs([""], [], async (world) => {
    await named(world, "of-a", "of-b");
    world.api.discovery = { resources: [] };
    await world.clock.advance(73_000);
    await until("it is said", () => /serves none of the kinds/.test(world.jobs.missing().join()));
    assert.deepEqual(world.names(), []);
    world.api.discovery = 403;
    await world.clock.advance(73_000);
    await named(world, "of-a", "of-b");
  }));

Deno.test("a kind that is not served is neither listed nor waited for", () =>
  withJobs([""], [], async ({ jobs, asked }) => {
    const kind = JOB_KINDS.all.find((it) => jobs.caches.get(it)?.resting);
    assert.ok(kind);
    assert.equal(await jobs.ensureCached({ kind }), true);
    assert.equal(asked.some(({ path }) => path.endsWith(`/${kind.plural}`)), false);
  }));
