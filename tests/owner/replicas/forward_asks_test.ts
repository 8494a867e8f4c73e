/** Tests of the questions between replicas about observations. */
import assert from "node:assert/strict";
import {
  ASK_MAX_BYTES,
  createAskJudge,
  decodeAskAnswer,
  encodeAsk,
} from "../../../owner/replicas/forward_asks.ts";

const bytesOf = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
const ask = { job: { namespace: "team", name: "job", uid: "uid" }, limit: 5 };
const NEVER = new AbortController().signal;

Deno.test("the owner of the named term answers", async () => {
  const judge = createAskJudge(
    () => ({ leading: true, transitions: 3 }),
    (asked) => Promise.resolve({ asked }),
  );
  const answer = await judge(encodeAsk({ transitions: 3, ask }), NEVER);
  assert.deepEqual(answer, { answer: { asked: ask } });
  assert.deepEqual(decodeAskAnswer(bytesOf(answer)), { asked: ask });
});

const others: Readonly<Record<string, { now: { leading: boolean; transitions: number } }>> = {
  "a newer owner": { now: { leading: true, transitions: 4 } },
  "a replica that is not the owner": { now: { leading: false, transitions: 3 } },
  "an owner that has not heard of its own term": { now: { leading: true, transitions: 2 } },
};
for (const [what, { now }] of Object.entries(others)) {
  Deno.test(`${what} does not answer, nor a replica that became so while it read`, async () => {
    let asked = 0;
    const own = { leading: true, transitions: 3 };
    const judge = createAskJudge(() => own, () => {
      asked += 1;
      Object.assign(own, now);
      return Promise.resolve({ rows: [] });
    });
    const question = encodeAsk({ transitions: 3, ask });
    for (let times = 0; times < 2; times++) {
      const answer = await judge(question, NEVER);
      assert.ok(answer !== undefined && "refusal" in answer, JSON.stringify(answer));
      assert.equal(decodeAskAnswer(bytesOf(answer)), undefined);
    }
    assert.equal(asked, 1);
  });
}

Deno.test("a replica without an answer says that it is not the owner", async () => {
  const judge = createAskJudge(
    () => ({ leading: true, transitions: 3 }),
    () => Promise.resolve(undefined),
  );
  assert.deepEqual(await judge(encodeAsk({ transitions: 3, ask }), NEVER), {
    refusal: "not_owner",
  });
});

const garbage: Readonly<Record<string, Uint8Array>> = {
  "no JSON": new TextEncoder().encode("{"),
  "no UTF-8": new Uint8Array([0xff, 0xfe]),
  "no term": bytesOf({ ask }),
  "a term below 0": bytesOf({ transitions: -1, ask }),
  "a term in words": bytesOf({ transitions: "3", ask }),
  "a list": bytesOf([3]),
  "nothing": new Uint8Array(),
};
for (const [what, bytes] of Object.entries(garbage)) {
  Deno.test(`a question with ${what} is refused, and an answer with it is ignored`, async () => {
    const judge = createAskJudge(() => ({ leading: true, transitions: 3 }), () => {
      throw new Error("asked");
    });
    assert.equal(await judge(bytes, NEVER), undefined);
    assert.equal(decodeAskAnswer(bytes), undefined);
  });
}

Deno.test("the longest question fits in a call", () => {
  const long = { namespace: "n".repeat(253), name: "n".repeat(253), uid: "u".repeat(128) };
  const bytes = encodeAsk({
    transitions: Number.MAX_SAFE_INTEGER,
    ask: { job: long, limit: 5000 },
  });
  assert.ok(bytes.length < ASK_MAX_BYTES);
});
