/** Tests of the report of `deno task bench status`: parsed loads, counts, options and rows. */
import assert from "node:assert/strict";
import { parseLoad } from "../../bench/generator/plan.ts";
import { isMet, type Measure } from "../../bench/result.ts";
import {
  type Account,
  askedIn,
  more,
  requestsIn,
  samplesOf,
  sumOf,
} from "../../bench/status/accounting.ts";
import {
  costRows,
  cpuFor100k,
  GOALS,
  manyJobsRows,
  oneJobRows,
  rateRows,
  replicasRows,
  splitOf,
  writesPerSecond,
} from "../../bench/status/compare.ts";
import { readOptions, ROWS } from "../../bench/status/options.ts";
import { hottest } from "../../bench/status/profile.ts";
import { addresses, shapeOf, targetsOf, type Turn } from "../../bench/status/turns.ts";

const QUICK = { count: 10, p50: 1, p90: 2, p99: 4, max: 9, histogram: [] };

function turn(
  load: Partial<Turn["load"]>,
  account: Partial<Account> = {},
  accepted = 1000,
): Turn {
  return {
    load: {
      ...{ name: "a", sent: 1000, unsent: 0, answers: 1000, ok: 1000, byStatus: { 200: 1000 } },
      ...{ errors: {}, timeouts: 0, refused: 0, seconds: 10, rate: 100, handshakes: 1 },
      ...{ resumed: 0, reconnects: 0, latency: QUICK, warm: QUICK, warmOk: 1000, examples: [] },
      ...{ again: 0, withoutReturn: 0, outcomes: "" },
      ...load,
    },
    account: {
      ...{ cpu: { endpoint: 2, generator: 5 }, requests: {}, seconds: 10 },
      ...{ rssMb: 100, peakRssMb: 150 },
      ...account,
    },
    asked: {},
    accepted,
  };
}

const find = (rows: readonly Measure[], name: string) => rows.find((it) => it.name === name);

Deno.test("parseLoad() refuses what the generator does not write", () => {
  const { load } = turn({});
  const text = JSON.stringify({ results: [load], cpuSeconds: 1, maxRssMb: 20 });
  assert.deepEqual(parseLoad(text).results, [load]);
  const { rate: _, ...without } = load;
  assert.throws(() => parseLoad(JSON.stringify({ results: [without], cpuSeconds: 1 })), /rate/);
});

const METRICS = `# HELP apiserver_request_total x
apiserver_request_total{code="200",resource="trainjobs",subresource="status",verb="PATCH"} 7
apiserver_request_total{code="200",resource="trainjobs",subresource="status",verb="APPLY"} 5
apiserver_request_total{code="409",resource="trainjobs",subresource="status",verb="PATCH"} 2
apiserver_request_total{code="200",resource="trainjobs",subresource="status",verb="GET"} 100
apiserver_request_total{code="200",resource="trainjobs",subresource="",verb="PATCH"} 100
apiserver_request_total{code="201",resource="tokenreviews",subresource="",verb="POST"} 3
apiserver_request_total_other{code="200",resource="trainjobs"} 9
plain 4
`;

Deno.test("requestsIn() counts writes of statuses by any verb, and TokenReviews", () => {
  const want = { "status writes": 12, "refused writes": 2, TokenReviews: 3 };
  assert.deepEqual(requestsIn(METRICS), want);
});

Deno.test("samplesOf() reads labels with quotes and commas, and series without labels", () => {
  assert.deepEqual(samplesOf('a{b="x,y",c="\\"q\\""} 1.5e3\nab 2', "a"), [
    { labels: { b: "x,y", c: '\\"q\\"' }, value: 1500 },
  ]);
  assert.equal(sumOf(METRICS, "plain"), 4);
  assert.equal(sumOf(METRICS, "absent"), 0);
});

Deno.test("askedIn() sums what all managers asked, by verb, resource and answer", () => {
  const line = 'milepost_api_requests_total{verb="get",resource="pods",code="200"} 2\n';
  assert.deepEqual(askedIn(`${line}${line}`), { "get pods 200": 4 });
});

Deno.test("more() returns the increase of each count, also of new ones", () => {
  assert.deepEqual(more({ a: 5, b: 2 }, { a: 3 }), { a: 2, b: 2 });
});

Deno.test("rateRows() holds the rate to shares of both peers, and p99 to its limit", () => {
  const turns = {
    milepost: [turn({ rate: 590 }), turn({ rate: 610, warm: { ...QUICK, p99: 12 } })],
    bare: [turn({ rate: 1000 })],
    upstream: [turn({ rate: 10 })],
    "upstream as shipped": [turn({ rate: 0, errors: { timeout: 3 } })],
  };
  const rows = rateRows("x", turns, { ofBare: 0.6, overUpstream: 40, p99Ms: 10 });
  assert.deepEqual(rows.map(({ name, value }) => [name, value]), [
    ["x: pushes", 600],
    ["x: over upstream", 600],
    ["x: over upstream as shipped", 600],
    ["x: p99", 12],
  ]);
  assert.deepEqual(rows.map(isMet), [true, true, undefined, false]);
  assert.match(rows[2]?.note ?? "", /3 × timeout/);
});

Deno.test("rateRows() leaves out sides without a turn, and returns no rows without Milepost", () => {
  const goals = { ofBare: 0.6, overUpstream: 40, p99Ms: 10 };
  assert.deepEqual(rateRows("x", { bare: [turn({})] }, goals), []);
  const rows = rateRows("x", { milepost: [turn({})] }, goals);
  assert.deepEqual(rows.map(({ name, goal }) => [name, goal?.limit]), [
    ["x: pushes", undefined],
    ["x: p99", 10],
  ]);
});

Deno.test("costRows() holds processor time for 100,000 pushes to a twentieth of upstream's", () => {
  const upstream = [turn({}, { cpu: { endpoint: 4 } })];
  const [row] = costRows({ milepost: [turn({}, { cpu: { endpoint: 0.2 } })], upstream });
  assert.deepEqual([row?.value, row?.goal?.limit, row && isMet(row)], [20, 20, true]);
  assert.ok(Number.isNaN(cpuFor100k([turn({ ok: 0 })])));
});

Deno.test("splitOf() returns the cores that each process used", () => {
  assert.equal(splitOf([turn({}), turn({})]), "cores used: endpoint 0.20, generator 0.50");
});

Deno.test("oneJobRows() takes the turn with the most writes to the API server", () => {
  const writes = (count: number) => turn({}, { requests: { "status writes": count } });
  assert.equal(writesPerSecond(writes(10)), 1);
  const [row] = oneJobRows({ milepost: [writes(10), writes(13)] });
  assert.deepEqual([row?.value, row && isMet(row)], [1.3, false]);
});

Deno.test("manyJobsRows() misses if anything was refused, late, unsent or above a budget", () => {
  const requests = { "status writes": 500, TokenReviews: 12 };
  const good = manyJobsRows(turn({}, { requests }), 50);
  assert.deepEqual(good.filter((row) => isMet(row) === false), []);
  assert.equal(find(good, "many jobs: TokenReviews")?.value, 12);
  const bad = manyJobsRows(
    turn(
      { refused: 1, timeouts: 2, unsent: 3, warm: { ...QUICK, p99: 50 } },
      { requests: { "status writes": 600 }, peakRssMb: 200 },
    ),
    50,
  );
  assert.deepEqual(bad.filter((row) => isMet(row) === false).map(({ name }) => name), [
    "many jobs: refused",
    "many jobs: timed out",
    "many jobs: offered but not sent",
    "many jobs: p99, warm",
    "many jobs: writes, at most",
    "many jobs: memory",
  ]);
});

Deno.test("replicasRows() counts pushes that were accepted more or less often than answered", () => {
  for (const accepted of [999, 1001]) {
    const rows = replicasRows(turn({}, {}, accepted), 100);
    assert.equal(find(rows, "two replicas: lost or answered twice")?.value, 1);
  }
  const [rate] = replicasRows(turn({ rate: 79 }), 100);
  assert.equal(rate && isMet(rate), false);
});

Deno.test("readOptions() selects everything by default, otherwise the given parts", () => {
  assert.deepEqual(readOptions([]).rows, ROWS);
  const options = readOptions(["--only", "keep-alive,replicas", "--short", "--jobs=12"]);
  assert.deepEqual(options.rows, ["keep-alive", "replicas"]);
  assert.equal(options.sizes.many.jobs, 12);
  assert.equal(options.sizes.rounds, 1);
  assert.deepEqual(readOptions(["--sides=bare,milepost"]).sides, ["bare", "milepost"]);
  const { v8Flags } = readOptions(["--v8-flags=--max-semi-space-size=8,--expose-gc"]);
  assert.equal(v8Flags, "--v8-flags=--max-semi-space-size=8,--expose-gc");
  const { fromSource, profiles } = readOptions(["--profile", "folder"]);
  assert.deepEqual([fromSource, profiles], [true, "folder"]);
});

const WRONG: Record<string, { args: string[]; says: RegExp }> = {
  "a row that is not there": { args: ["--only", "x"], says: /--only x: must be one of keep-alive/ },
  "a side that is not there": { args: ["--sides=x"], says: /--sides x: must be one of bare/ },
  "an invalid number of jobs": { args: ["--jobs", "many"], says: /--jobs many: must be/ },
  "a flag that it does not know": { args: ["--fast"], says: /--fast: there are --only/ },
};
for (const [sentence, { args, says }] of Object.entries(WRONG)) {
  Deno.test(`readOptions() refuses ${sentence}`, () => {
    assert.throws(() => readOptions(args), says);
  });
}

Deno.test("shapeOf() offers a large cluster's pushes at their rate, each on a connection of its own", () => {
  const { sizes } = readOptions([]);
  const many = shapeOf("many-jobs", sizes);
  const { rate, mode, durationMs, connections } = many;
  const want = { rate: 2000, mode: "connection-per-push", durationMs: 60_000, connections: 10_000 };
  assert.deepEqual({ rate, mode, durationMs, connections }, want);
  const each = ROWS.map((row) => [row, shapeOf(row, sizes).connections]);
  assert.deepEqual(Object.fromEntries(each), {
    "keep-alive": 64,
    connections: 64,
    "one-job": 32,
    "many-jobs": 10_000,
    replicas: 64,
  });
});

Deno.test("every row that all sides take has goals", () => {
  assert.deepEqual(Object.keys(GOALS), ["keep-alive", "connections", "one-job"]);
});

Deno.test("targetsOf() names each job's path; addresses() are loopback, each once", () => {
  const pusher = { namespace: "n", trainJob: "j", token: "t" };
  assert.deepEqual(targetsOf("https://127.0.0.1:1", [pusher]), [{
    url: "https://127.0.0.1:1/apis/trainer.kubeflow.org/v1alpha1/namespaces/n/trainjobs/j/status",
    token: "t",
  }]);
  const all = addresses(200);
  assert.equal(new Set(all).size, 200);
  assert.ok(all.every((it) => /^127\.0\.2\.\d{1,3}$/.test(it)));
});

Deno.test("hottest() sums the samples of a function, most first", () => {
  const node = (id: number, functionName: string) => ({
    id,
    callFrame: { functionName, url: "file:///x/status/a.ts", lineNumber: 4 },
  });
  const profile = {
    nodes: [node(1, "slow"), node(2, "fast"), node(3, "slow")],
    samples: [1, 2, 3],
    timeDeltas: [30, 20, 50],
  };
  assert.deepEqual(hottest(profile, 1), [{ where: "slow status/a.ts:5", part: 0.8 }]);
});
