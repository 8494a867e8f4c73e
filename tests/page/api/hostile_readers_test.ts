/** Tests of an honest reader beside accounts without rights that ask for all that they can, by a fake clock. */
import assert from "node:assert/strict";
import { OBSERVATION_AUDIENCE } from "../../../crds/names.ts";
import { JOB_KINDS, TRAINJOB } from "../../../crds/job_kinds.ts";
import { KINDS } from "../../../crds/kinds.ts";
import type { Reader } from "../../../platform/http/callers/reader_access.ts";
import { ofOpenStream, refusalOfRights } from "../../../platform/http/callers/reader_checks.ts";
import { createReaders } from "../../../platform/http/callers/readers.ts";
import { createPeers } from "../../../platform/http/limits/peers.ts";
import { createClientOver } from "../../../platform/kube/connection/http_client.ts";
import { mostReviews, readerScope } from "../../../page/api/scope.ts";
import { FakeClock, settlePromises } from "../../support/fake_clock.ts";

const KIND_COUNT = JOB_KINDS.all.length;
/** `--token-review-qps`. */
const PER_SECOND = 50;

const readerOf = (username: string): Reader => ({ username, groups: [], key: username });

/** Readers before an API server that allows `honest` its own namespace, and nobody else anything. */
function start() {
  const clock = new FakeClock(undefined, settlePromises);
  const asked: { readonly user: string; readonly atMs: number }[] = [];
  const client = createClientOver({
    async send({ body }) {
      const review = KINDS.subjectAccessReview.parse(JSON.parse(body ?? ""));
      const { user = "", resourceAttributes } = review.spec;
      asked.push({ user, atMs: clock.monotonic() });
      await clock.sleep(5);
      const allowed = user === "honest" && resourceAttributes?.namespace === "its-own";
      return Response.json({ ...review, status: { allowed } }, { status: 201 });
    },
    close() {},
  }, { clock });
  const readers = createReaders({
    audience: OBSERVATION_AUDIENCE,
    client,
    clock,
    peers: createPeers({ failures: { ratePerSecond: 20, burst: 200 }, maxKeys: 100 }),
    reviewsPerSecond: PER_SECOND,
    reviewsAtOnce: mostReviews(KIND_COUNT),
    apiTokens: false,
    onReview: () => {},
  });

  const listOf = async (username: string, namespaces: readonly string[]) => {
    const scope = await readerScope(readers, readerOf(username), {
      kinds: JOB_KINDS.all,
      namespaces,
    });
    return "why" in scope ? scope.why : undefined;
  };
  const change = async (username: string, name: string, parts = readers) => {
    const object = { kind: TRAINJOB, namespace: "its-own", name, text: name };
    return (await refusalOfRights(parts, readerOf(username), object, "update"))?.why;
  };
  const lookOn = async (username: string) => {
    const scope = await readerScope(ofOpenStream(readers), readerOf(username), {
      kinds: JOB_KINDS.all,
      namespaces: ["its-own"],
    });
    return "why" in scope ? scope.why : undefined;
  };
  return { clock, asked, listOf, change, lookOn, close: readers.close };
}

const twenty = (prefix: string) => Array.from({ length: 20 }, (_, at) => `${prefix}-${at}`);

/** Asks for lists of namespaces that nobody has asked for, and for changes, as fast as answers come. */
async function attack({ clock, listOf, change }: ReturnType<typeof start>, name: string) {
  const answers: unknown[] = [];
  const over = new AbortController();
  async function loop(turn: (number: number) => Promise<unknown>) {
    for (let number = 0; !over.signal.aborted; number++) {
      answers.push(await turn(number));
      await clock.sleep(50, over.signal);
    }
  }
  const loops = Promise.all([
    loop((number) => listOf(name, twenty(`${name}-${number}`))),
    loop((number) => listOf(name, twenty(`${name}-more-${number}`))),
    loop((number) => change(name, `job-${number}`)),
  ]);
  await undefined;
  return {
    answers,
    async end() {
      over.abort();
      await loops;
    },
  };
}

Deno.test("an honest reader beside four accounts without rights: all is answered, p99 below a second", async () => {
  const bench = start();
  const { clock, asked, listOf, change, lookOn, close } = bench;
  const hostile = await Promise.all(["a", "b", "c", "d"].map((it) => attack(bench, it)));
  await clock.advance(200);

  const [refused, timesMs]: [unknown[], number[]] = [[], []];
  async function measure(what: () => Promise<unknown>) {
    const beganMs = clock.monotonic();
    const why = await what();
    if (why !== undefined) refused.push(why);
    timesMs.push(clock.monotonic() - beganMs);
  }
  const seconds = 60;
  for (let second = 0; second < seconds; second++) {
    const all = Promise.all([
      measure(() => listOf("honest", ["its-own"])),
      measure(() => change("honest", `job-${second}`)),
      measure(() => lookOn("honest")),
    ]);
    await clock.advance(1000);
    await Promise.race([all, settlePromises()]);
  }
  await clock.advance(5_000);

  assert.deepEqual(refused, []);
  assert.equal(timesMs.length, 3 * seconds);
  const p99 = timesMs.sort((a, b) => a - b)[Math.floor(timesMs.length * 0.99)] ?? Infinity;
  assert.ok(p99 < 1000, `p99 ${p99} ms`);
  for (const { answers } of hostile) assert.ok(answers.length > 100, "it has asked all the time");
  const inAll = clock.monotonic() / 1000 * PER_SECOND + 10 * PER_SECOND;
  assert.ok(asked.length <= inAll, `${asked.length} reviews in all`);
  for (const name of ["a", "b", "c", "d"]) {
    const of = asked.filter(({ user }) => user === name).length;
    const most = 1.25 * mostReviews(KIND_COUNT) + clock.monotonic() / 1000 * PER_SECOND / 10;
    assert.ok(of <= most + 1, `${of} reviews of one account, at most ${most}`);
  }
  const ends = Promise.all(hostile.map((it) => it.end()));
  await clock.advance(10_000);
  await ends;
  await close();
});

Deno.test("a full list is answered at once where nobody else asks", async () => {
  const { clock, listOf, asked, close } = start();
  const namespaces = twenty("team");
  const first = listOf("somebody", namespaces);
  await clock.advance(100);
  assert.equal(await first, "forbidden");
  assert.equal(asked.length, mostReviews(KIND_COUNT));
  await close();
});

Deno.test("who may list one namespace alone is asked about each kind there, and once about all namespaces", async () => {
  const { clock, listOf, asked, close } = start();
  const list = listOf("honest", ["its-own"]);
  await clock.advance(100);
  assert.equal(await list, undefined);
  assert.equal(asked.length, 1 + KIND_COUNT);
  await close();
});
