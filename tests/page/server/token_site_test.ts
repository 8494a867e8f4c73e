/** Tests of the page for many users: rights and tokens that are lost end what streams, within 80 s by a fake clock. */
import assert from "node:assert/strict";
import { OBSERVATION_AUDIENCE } from "../../../crds/names.ts";
import { z } from "zod";
import type { AnyJob } from "../../../crds/job_kind.ts";
import { JOB_KINDS, TRAINJOB } from "../../../crds/job_kinds.ts";
import { createReaders } from "../../../platform/http/callers/readers.ts";
import { createPeers } from "../../../platform/http/limits/peers.ts";
import { createStreamSlots } from "../../../platform/http/limits/stream_limits.ts";
import type { HttpRequest, HttpResponse } from "../../../platform/http/message.ts";
import type { Change } from "../../../platform/kube/watching/informer_cache.ts";
import { endingWith } from "../../../platform/kube/connection/ending_body.ts";
import { createClientOver } from "../../../platform/kube/connection/http_client.ts";
import type { HttpRequest as Sent } from "../../../platform/kube/connection/transport.ts";
import { createListTurns } from "../../../page/api/list_turns.ts";
import { createViewApi } from "../../../page/api/view_api.ts";
import { createJobList } from "../../../views/list/job_list.ts";
import { createTokenSite } from "../../../page/server/token_site.ts";
import { FakeClock } from "../../support/fake_clock.ts";

const reviewSchema = z.looseObject({
  kind: z.string(),
  spec: z.looseObject({
    token: z.string().optional(),
    user: z.string().optional(),
    resourceAttributes: z.looseObject({
      verb: z.string(),
      resource: z.string(),
      namespace: z.string().optional(),
    }).optional(),
  }),
});

/** A token with an expiry, as users have them. */
const tokenUntil = (ms: number) => {
  const part = (value: unknown) => btoa(JSON.stringify(value)).replaceAll("=", "");
  return `${part({ alg: "RS256" })}.${part({ exp: ms / 1000 })}.c2ln`;
};

const job = (namespace: string, name: string): AnyJob => ({
  apiVersion: TRAINJOB.apiVersion,
  kind: TRAINJOB.kind,
  metadata: { namespace, name, uid: `uid-${name}`, creationTimestamp: "2026-01-01T00:00:00Z" },
});

/** A site before an API server whose users, rights and state a test changes. */
function start() {
  const clock = new FakeClock();
  const ada = tokenUntil(clock.now() + 3_600_000);
  const users = new Map([[ada, "ada"]]);
  const rights = new Set(["ada list trainjobs team-a", "ada get pods team-a"]);
  const state = { isAway: false, refusesSelfReviews: false };
  const callers: string[] = [];

  /** The API server, for one of its users. */
  function answer({ path, body, headers }: Sent, user: string | undefined): Response {
    if (state.isAway) throw new TypeError("connection refused");
    callers.push(`${user} ${path.split("?")[0]}`);
    if (path.includes("/log")) {
      return new Response(new ReadableStream({ start: (it) => it.enqueue(new Uint8Array([65])) }), {
        headers: { "content-type": "text/plain" },
      });
    }
    if (headers?.["Authorization"] !== undefined && user === undefined) {
      return Response.json({ kind: "Status", code: 401 }, { status: 401 });
    }
    const review = reviewSchema.parse(JSON.parse(body ?? "{}"));
    if (state.refusesSelfReviews && review.kind === "SelfSubjectAccessReview") {
      return Response.json({ kind: "Status", code: 403 }, { status: 403 });
    }
    const { kind, spec: { token = "", user: subject = user, resourceAttributes: it } } = review;
    const known = users.get(token);
    const status = kind === "TokenReview"
      ? { authenticated: known !== undefined, ...(known && { user: { username: known } }) }
      : { allowed: rights.has(`${subject} ${it?.verb} ${it?.resource} ${it?.namespace ?? "*"}`) };
    return Response.json({ metadata: {}, ...review, status });
  }
  const clientAs = (userOf: () => string | undefined, token?: string) =>
    createClientOver({
      send: (request, signal) => {
        const headers: Record<string, string> = token === undefined
          ? {}
          : { Authorization: `Bearer ${token}` };
        return Promise.resolve().then(() =>
          endingWith(answer({ ...request, headers }, userOf()), signal)
        );
      },
      close() {},
    }, { clock });

  const readers = createReaders({
    audience: OBSERVATION_AUDIENCE,
    client: clientAs(() => "the-ui"),
    clock,
    peers: createPeers({ failures: { ratePerSecond: 20, burst: 400 }, maxKeys: 100 }),
    reviewsPerSecond: 300,
    reviewsAtOnce: 200,
    apiTokens: true,
    onReview: () => {},
  });
  const all = [job("team-a", "mine"), job("team-b", "other")];
  const rings = new Set<(change: Change<AnyJob>) => void>();
  const cache = {
    list: () => all,
    onChange(listener: (change: Change<AnyJob>) => void) {
      rings.add(listener);
      return () => void rings.delete(listener);
    },
  };
  const followed = new Set<string>();
  const add = (...more: AnyJob[]) =>
    more.forEach((object) => {
      all.push(object);
      for (const ring of rings) ring({ type: "added", object });
    });
  const view = createViewApi({
    ...readers,
    kinds: JOB_KINDS,
    runningKinds: () => JOB_KINDS.all,
    slots: createStreamSlots({ total: 10, perSubject: 5 }),
    listInTurn: createListTurns(clock, 0.5),
    list: createJobList({ jobs: new Map([[TRAINJOB, { jobs: cache }]]) }),
    cached: ({ name }) => all.find(({ metadata }) => metadata.name === name),
    ask: () => ({ curves: [], left: [] }),
    follow({ uid }) {
      followed.add(uid);
      return () => void followed.delete(uid);
    },
    random: () => 0.5,
  });
  const site = createTokenSite({
    assets: new Map(),
    hosts: ["page.example"],
    kinds: JOB_KINDS,
    clock,
    readers,
    view: view.handle,
    clientOf: (token) => clientAs(() => users.get(token), token),
    managerOf: () => undefined,
  });
  const request = (path: string, token: string | undefined = ada): HttpRequest => ({
    method: "GET",
    url: path,
    peer: "192.0.2.1",
    header: (name) =>
      ({ host: "page.example", authorization: token === "" ? undefined : `Bearer ${token}` })[name],
    readBody: () => Promise.resolve(new Uint8Array()),
  });

  /** Reads a stream. */
  function follow(response: HttpResponse) {
    assert.equal(response.status, 200, response.body);
    assert.ok(response.stream !== undefined);
    const decoder = new TextDecoder();
    const gone = new AbortController();
    const read = { text: "", hasEnded: false, leave: () => gone.abort() };
    response.stream({
      write(part) {
        read.text += typeof part === "string" ? part : decoder.decode(part);
        return Promise.resolve();
      },
      signal: gone.signal,
    }).then(() => read.hasEnded = true);
    return read;
  }
  return { all, add, followed, clock, ada, users, rights, state, callers, site, request, follow };
}

const LIST = "/view/v1/events?namespace=team-a";
/** The same as one of several lists, as the page asks for it. */
const LISTS = `/view/v1/events?list=${encodeURIComponent("namespace=team-a&limit=25")}`;
const LOG = "/logs/team-a/pod-1?follow=true";
type World = ReturnType<typeof start>;

/** What a user loses, by what is said of that at the end of a stream of the view. */
const losses: Record<string, { lose: (world: World) => void; says: RegExp }> = {
  "the right": { lose: ({ rights }) => rights.clear(), says: /ended: ada may not list/ },
  "the token": { lose: ({ users }) => users.clear(), says: /ended: .*does not accept/ },
};
for (const [what, { lose, says }] of Object.entries(losses)) {
  Deno.test(`a stream of the view, and of a log, ends within 80 s of the loss of ${what}`, async () => {
    const world = start();
    const { clock, site, request, follow } = world;
    const view = follow(await site(request(LIST)));
    const lists = follow(await site(request(LISTS)));
    const log = follow(await site(request(LOG)));
    await clock.advance(300_000);
    for (const { text } of [view, lists]) assert.match(text, /"name":"mine"/);
    assert.deepEqual(
      [view.hasEnded, lists.hasEnded, log.hasEnded],
      [false, false, false],
      "they go on as long as it is there",
    );
    lose(world);
    await clock.advance(80_000);
    assert.deepEqual([view.hasEnded, lists.hasEnded, log.hasEnded], [true, true, true]);
    for (const { text } of [view, lists]) assert.match(text, says);
    assert.equal(clock.sleeping, 0);
  });
}

Deno.test("a followed log ends within 80 s when the API server answers no question of the user's any more", async () => {
  const { clock, state, site, request, follow } = start();
  const log = follow(await site(request(LOG)));
  await clock.advance(100_000);
  assert.equal(log.hasEnded, false);
  state.refusesSelfReviews = true;
  await clock.advance(80_000);
  assert.equal(log.hasEnded, true);
  assert.equal(clock.sleeping, 0);
});

Deno.test("of two lists the one that may not be seen any more says so within 80 s, and the other goes on", async () => {
  const world = start();
  const { add, clock, rights, site, request, follow } = world;
  rights.add("ada list trainjobs team-b");
  const two = ["team-a", "team-b"].map((it) => `list=${encodeURIComponent(`namespace=${it}`)}`);
  const view = follow(await site(request(`/view/v1/events?${two.join("&")}`)));
  await clock.advance(1_000);
  rights.delete("ada list trainjobs team-b");
  await clock.advance(80_000);
  assert.match(view.text, /event: refused\n.*\ndata: \{"list":1,"code":403/);
  add(job("team-a", "newer"), job("team-b", "hidden"));
  await clock.advance(2_000);
  assert.match(view.text, /"newer"/);
  assert.doesNotMatch(view.text, /"hidden"/);
  view.leave();
  await clock.advance(0);
});

/** Who asks so much, of a world where ada looks at a list. */
const floods: Record<string, readonly string[]> = {
  "who looks": ["ada"],
  "whoever else asks": ["eve", "eva", "eve"],
};
for (const [what, names] of Object.entries(floods)) {
  Deno.test(`a stream whose rights are lost ends however much ${what} asks`, async () => {
    const world = start();
    const { add, ada, clock, rights, users, site, request, follow } = world;
    let asked = 0;
    const askers = names.map((name, index) => {
      if (name === "ada") return ada;
      const token = tokenUntil(clock.now() + 3_601_000 + index * 1000);
      users.set(token, name);
      return token;
    });
    /** Lists of namespaces that nobody has heard of take the reviews that there are. */
    const flood = (times: number) =>
      Promise.all(Array.from({ length: times * askers.length }, (_, index) => {
        const places = Array.from({ length: 20 }, () => `namespace=x${asked++}`);
        return site(request(`/view/v1/jobs?${places.join("&")}`, askers[index % askers.length]));
      }));
    const view = follow(await site(request(LIST)));
    const log = follow(await site(request(LOG)));
    await clock.advance(30_000);
    rights.clear();
    // Whenever the rights are about to be checked.
    for (const checkMs of [60_000, 65_000, 70_000, 75_000]) {
      await clock.advance(checkMs - 500 - clock.monotonic());
      for (let ms = 0; ms < 600; ms += 10) {
        await flood(ms === 0 ? 12 : 2);
        await clock.advance(10);
      }
    }
    assert.ok(view.hasEnded, "within 80 s");
    assert.match(view.text, /: ended: ada may not list/);
    add(job("team-a", "later"));
    await clock.advance(1_000);
    assert.doesNotMatch(view.text, /"later"/);
    log.leave();
    await clock.advance(0);
  });
}

Deno.test("a job that is made again under its name is followed instead of the one before", async () => {
  const { all, followed, clock, site, request, follow } = start();
  const view = follow(await site(request(`${LISTS}&job=${TRAINJOB.id}/team-a/mine`)));
  await clock.advance(1_000);
  assert.deepEqual([...followed], ["uid-mine"]);
  const again = job("team-a", "mine");
  all[0] = { ...again, metadata: { ...again.metadata, uid: "uid-second" } };
  await clock.advance(60_000);
  assert.deepEqual([...followed], ["uid-second"]);
  view.leave();
  await clock.advance(0);
  assert.deepEqual([...followed], []);
});

Deno.test("a question about jobs of two namespaces says nothing of the one that may not be seen", async () => {
  const { clock, site, request } = start();
  const ask = (name: string) =>
    site(request(
      `/view/v1/curves?job=${TRAINJOB.id}/team-a/mine&job=${TRAINJOB.id}/team-b/${name}`,
    ));
  const [there, nowhere] = [await ask("other"), await ask("nowhere")];
  assert.equal(there.body.replaceAll("other", "nowhere"), nowhere.body);
  assert.match(there.body, /"missing":\[\{[^}]*"name":"other"/);
  await clock.advance(0);
});

Deno.test("streams end when the token expires", async () => {
  const { clock, users, site, request, follow } = start();
  const short = tokenUntil(clock.now() + 100_000);
  users.set(short, "ada");
  const view = follow(await site(request(LIST, short)));
  const log = follow(await site(request(LOG, short)));
  await clock.advance(99_000);
  assert.deepEqual([view.hasEnded, log.hasEnded], [false, false]);
  users.delete(short);
  await clock.advance(80_000);
  assert.deepEqual([view.hasEnded, log.hasEnded], [true, true]);
});

Deno.test("an API server that is away for a while takes no rights away", async () => {
  const { clock, state, site, request, follow } = start();
  const view = follow(await site(request(LIST)));
  const log = follow(await site(request(LOG)));
  state.isAway = true;
  await clock.advance(200_000);
  assert.deepEqual([view.hasEnded, log.hasEnded], [false, false]);
  state.isAway = false;
  await clock.advance(200_000);
  assert.deepEqual([view.hasEnded, log.hasEnded], [false, false]);
  [view, log].forEach((it) => it.leave());
  await clock.advance(0);
  assert.deepEqual([view.hasEnded, log.hasEnded], [true, true]);
});

Deno.test("a viewer's calls carry the viewer's token, and a stranger's none reach the API server", async () => {
  const { site, request, callers, clock } = start();
  const wrong = tokenUntil(clock.now() + 60_000);
  assert.equal((await site(request(`/objects/${TRAINJOB.id}/team-a/mine`, ""))).status, 401);
  assert.equal((await site(request("/session", ""))).status, 401);
  assert.deepEqual(callers, [], "without a token nothing is asked");
  assert.equal((await site(request(LOG, wrong))).status, 401);
  assert.equal((await site(request("/session", wrong))).status, 401);
  assert.deepEqual(callers, ["the-ui /apis/authentication.k8s.io/v1/tokenreviews"]);
  const expired = tokenUntil(clock.now() - 1);
  assert.match((await site(request("/session", expired))).body, /has expired/);
  const session = await site(request("/session"));
  assert.deepEqual(JSON.parse(session.body), { user: "ada", server: "" });
  assert.equal(session.headers["Set-Cookie"], undefined);
  callers.length = 0;
  await site(request(LOG));
  assert.deepEqual(callers, ["ada /api/v1/namespaces/team-a/pods/pod-1/log"]);
});

Deno.test("a list over namespaces names those that are denied, whatever is in them", async () => {
  const { site, request } = start();
  const path = "/view/v1/jobs?namespace=team-a&namespace=";
  const told = await Promise.all(["team-b", "none"].map(async (it) => {
    const { status, body } = await site(request(path + it));
    return [status, body.replaceAll(it, "NAME")];
  }));
  assert.deepEqual(told[0], told[1]);
  assert.match(String(told[0]?.[1]), /"total":1/);
});
