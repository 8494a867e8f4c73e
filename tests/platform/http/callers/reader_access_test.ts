/** Tests of the access reviews for readers of observations: requests, budgets and cached answers. */
import assert from "node:assert/strict";
import { TRAINJOB } from "../../../../crds/job_kinds.ts";
import {
  type Access,
  BELIEVED_MS,
  type Reader,
} from "../../../../platform/http/callers/reader_access.ts";
import { readerToken } from "../../../../platform/http/callers/reader_token.ts";
import { apiBench, AUDIENCE, NOW_MS, tokenWith } from "../../../katib/api/api_bench.ts";

const JOB = { kind: TRAINJOB, namespace: "team", name: "job" };

function token(claims: Record<string, unknown> = {}) {
  const read = readerToken(`Bearer ${tokenWith(claims)}`, NOW_MS, { audience: AUDIENCE });
  if ("why" in read) throw new Error(read.why);
  return read;
}

async function readerOf(access: Access): Promise<Reader> {
  const reader = await access.authenticate(token());
  assert.ok(typeof reader === "object");
  return reader;
}

Deno.test("`authenticate()` reviews for this audience, once for concurrent callers", async () => {
  const { access, server } = apiBench();
  const readers = await Promise.all([1, 2, 3].map(() => access.authenticate(token())));
  assert.equal(server.asked.length, 1);
  assert.match(server.asked[0] ?? "", new RegExp(`TokenReview .*"audiences":\\["${AUDIENCE}"\\]`));
  for (const reader of readers) {
    assert.ok(typeof reader === "object");
    assert.equal(reader.username, "system:serviceaccount:team:reader");
  }
});

Deno.test("`authenticate()` trusts an answer for seconds, so that a revoked token ends soon", async () => {
  const { access, server, clock } = apiBench();
  await readerOf(access);
  assert.ok(access.wasAccepted(token()));
  server.accepts = false;
  await clock.advance(BELIEVED_MS.accepted - 1);
  assert.notEqual(await access.authenticate(token()), "refused");
  assert.equal(server.asked.length, 1);
  await clock.advance(1);
  assert.equal(await access.authenticate(token()), "refused");
  assert.ok(!access.wasAccepted(token()));
  assert.equal(await access.authenticate(token()), "refused");
  assert.equal(server.asked.length, 2);
  assert.ok(BELIEVED_MS.accepted <= 60_000);
});

const noReaders: Readonly<Record<string, Record<string, unknown>>> = {
  "that knows of no audiences": { audiences: undefined },
  "that means another audience": { audiences: ["trainer.kubeflow.org"] },
};
for (const [what, answer] of Object.entries(noReaders)) {
  Deno.test(`\`authenticate()\` rejects the answer of an API server ${what}`, async () => {
    const { access, server } = apiBench();
    Object.assign(server, answer);
    assert.equal(await access.authenticate(token()), "refused");
  });
}

Deno.test("`authenticate()` has a budget, and knows nothing of callers beyond it", async () => {
  const { access, server } = apiBench();
  for (let jti = 0; jti < 20; jti++) await access.authenticate(token({ jti: String(jti) }));
  assert.equal(server.asked.length, 10);
  assert.equal(await access.authenticate(token({ jti: "late" })), "over_budget");
});

Deno.test("`authenticate()` does not remember a missing answer: the next caller asks again", async () => {
  const { access, server } = apiBench();
  server.isAway = true;
  assert.equal(await access.authenticate(token()), "unavailable");
  server.isAway = false;
  await readerOf(access);
  assert.equal(server.asked.length, 2);
});

Deno.test("`authorize()` asks whether exactly this reader may get exactly this job", async () => {
  const { access, server } = apiBench();
  const reader = await readerOf(access);
  assert.equal(await access.authorize(reader, JOB), true);
  assert.equal(await access.authorize(reader, JOB), true);
  assert.equal(server.asked.length, 2);
  const { groups: [group] } = reader;
  assert.equal(group, "g");
  assert.deepEqual(JSON.parse(server.asked[1]?.split(" ")[1] ?? ""), {
    user: "system:serviceaccount:team:reader",
    uid: "u1",
    groups: ["g"],
    extra: {},
    resourceAttributes: {
      verb: "get",
      group: "trainer.kubeflow.org",
      version: "v1alpha1",
      resource: "trainjobs",
      namespace: "team",
      name: "job",
    },
  });
  assert.equal(await access.authorize({ ...reader, key: "other groups" }, JOB), true);
  assert.equal(await access.authorize(reader, { ...JOB, name: "other" }), true);
  assert.equal(server.asked.length, 4);
});

Deno.test("`authorize()` trusts a yes for seconds, and a no for less", async () => {
  const { access, server, clock } = apiBench();
  const reader = await readerOf(access);
  assert.equal(await access.authorize(reader, JOB), true);
  server.allows = false;
  await clock.advance(BELIEVED_MS.allowed);
  assert.equal(await access.authorize(reader, JOB), false);
  server.allows = true;
  await clock.advance(BELIEVED_MS.denied - 1);
  assert.equal(await access.authorize(reader, JOB), false);
  await clock.advance(1);
  assert.equal(await access.authorize(reader, JOB), true);
});

Deno.test("`authorize()` gives each reader a share, so that a reader of all jobs delays no other", async () => {
  const { access } = apiBench();
  const reader = await readerOf(access);
  const answers = await Promise.all(
    Array.from(
      { length: 10 },
      (_, index) => access.authorize(reader, { ...JOB, name: `${index}` }),
    ),
  );
  assert.deepEqual(answers.slice(7), [true, { retryAfterMs: 1000 }, { retryAfterMs: 1000 }]);
  assert.equal(await access.authorize(reader, { ...JOB, name: "0" }), true, "what is known");
  // Another token of the same user has other facts beside the name.
  assert.deepEqual(await access.authorize({ ...reader, key: "another token" }, JOB), {
    retryAfterMs: 1000,
  });
  assert.equal(await access.authorize({ ...reader, username: "b", key: "b" }, JOB), true);
});

Deno.test("`authorize()` lets readers wait for their turns, and says if that takes too long", async () => {
  const { access, clock } = apiBench();
  const reader = await readerOf(access);
  const answers: unknown[] = [];
  const all = Array.from({ length: 200 }, async (_, index) => {
    answers.push(await access.authorize({ ...reader, username: `${index}`, key: `${index}` }, JOB));
  });
  await clock.advance(0);
  assert.ok(answers.length > 50, "at once");
  assert.deepEqual(new Set(answers), new Set([true]));
  await clock.advance(5_000);
  await Promise.all(all);
  assert.equal(answers.filter((it) => it === true).length, 50 + 80);
  assert.equal(answers.filter((it) => it === "over_budget").length, 200 - 130);
  assert.equal(clock.sleeping, 0, "nothing looks on when nobody waits");
});

Deno.test("`authorize()` believes a no that comes again for longer, and a yes after it for as long as ever", async () => {
  const { access, server, clock } = apiBench();
  const reader = await readerOf(access);
  server.allows = false;
  const asksAfter = async (ms: number) => {
    const before = server.asked.length;
    await clock.advance(ms - 1);
    await access.authorize(reader, JOB);
    assert.equal(server.asked.length, before, `believed for ${ms} ms`);
    await clock.advance(1);
    await access.authorize(reader, JOB);
    assert.equal(server.asked.length, before + 1, `asked after ${ms} ms`);
  };
  await access.authorize(reader, JOB);
  await asksAfter(BELIEVED_MS.denied);
  await asksAfter(BELIEVED_MS.deniedAgain);
  server.allows = true;
  await asksAfter(BELIEVED_MS.deniedAgain);
  await asksAfter(BELIEVED_MS.allowed);
});

Deno.test("`close()` ends waits for a turn", async () => {
  const { access, clock } = apiBench();
  const reader = await readerOf(access);
  const all = Array.from(
    { length: 100 },
    (_, index) => access.authorize({ ...reader, username: `${index}`, key: `${index}` }, JOB),
  );
  await clock.advance(0);
  await access.close();
  assert.equal((await Promise.all(all)).at(-1), "over_budget");
  assert.equal(clock.sleeping, 0);
});

Deno.test("`close()` ends requests to the API server, and no request starts after it", async () => {
  const { access, server } = apiBench();
  const held = Promise.withResolvers<void>();
  server.hold = held.promise;
  const waiting = access.authenticate(token());
  const closing = access.close();
  held.resolve();
  await Promise.all([waiting, closing]);
  assert.equal(await access.authenticate(token({ jti: "2" })), "over_budget");
  assert.equal(server.asked.length, 1);
});
