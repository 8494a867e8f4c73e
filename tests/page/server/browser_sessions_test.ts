/** Tests of one-time codes and sessions. */
import assert from "node:assert/strict";
import { createBrowserSessions, SESSION_LIMITS } from "../../../page/server/browser_sessions.ts";
import { FakeClock } from "../../support/fake_clock.ts";

function world() {
  const clock = new FakeClock();
  let made = 0;
  const randomBytes = (count: number) => new Uint8Array(count).fill(++made);
  return { clock, sessions: createBrowserSessions({ clock, randomBytes }) };
}

Deno.test("a code is good once, and its key until it is unused for too long", async () => {
  const { clock, sessions } = world();
  const code = sessions.newCode();
  const opened = sessions.open(code);
  assert.ok("session" in opened);
  assert.notEqual(opened.session, code);
  assert.deepEqual(sessions.open(code), { why: "wrong_code" });
  assert.ok(!sessions.has(code), "a code is no key");
  assert.ok(sessions.has(opened.session));
  await clock.advance(SESSION_LIMITS.idleMs - 1);
  assert.ok(sessions.has(opened.session), "it is kept by use");
  await clock.advance(SESSION_LIMITS.idleMs - 1);
  assert.ok(sessions.has(opened.session));
  await clock.advance(SESSION_LIMITS.idleMs + 1);
  assert.ok(!sessions.has(opened.session));
});

Deno.test("a code is good for ten minutes, beside newer ones", async () => {
  const { clock, sessions } = world();
  const [first, second] = [sessions.newCode(), sessions.newCode()];
  await clock.advance(SESSION_LIMITS.codeMs - 1);
  const third = sessions.newCode();
  assert.ok("session" in sessions.open(first));
  await clock.advance(1);
  assert.deepEqual(sessions.open(second), { why: "wrong_code" });
  assert.ok("session" in sessions.open(third));
});

Deno.test("the oldest code makes room for a new one", () => {
  const { sessions } = world();
  const first = sessions.newCode();
  const others = Array.from({ length: SESSION_LIMITS.codes }, () => sessions.newCode());
  assert.deepEqual(sessions.open(first), { why: "wrong_code" });
  assert.ok("session" in sessions.open(others[0] ?? ""));
});

Deno.test("wrong codes are limited, and lock out nobody who has a good one", () => {
  const { sessions } = world();
  const code = sessions.newCode();
  for (let n = 0; n < SESSION_LIMITS.triesPerMinute; n++) {
    assert.deepEqual(sessions.open(`guess${n}`), { why: "wrong_code" });
  }
  const refused = sessions.open("one guess more");
  assert.ok("retryAfterMs" in refused && refused.retryAfterMs <= 6_000);
  assert.ok("session" in sessions.open(code));
  assert.ok("retryAfterMs" in sessions.open(code), "it is good once");
});

Deno.test("a code opens again in the browser that opened it, and in no other one", async () => {
  const { clock, sessions } = world();
  const [code, other] = [sessions.newCode(), sessions.newCode()];
  const first = sessions.open(code, "mine");
  const second = sessions.open(code, "mine");
  assert.ok("session" in first && "session" in second);
  assert.notEqual(first.session, second.session);
  for (const browser of ["another", "", undefined, "x".repeat(65)]) {
    assert.ok(!("session" in sessions.open(code, browser)), String(browser));
  }
  assert.ok(!("session" in sessions.open("made up", "mine")));
  assert.ok("session" in sessions.open(other));
  assert.ok(!("session" in sessions.open(other, "mine")), "it was opened without a secret");
  for (const isGood of [true, true, false]) {
    await clock.advance(isGood ? SESSION_LIMITS.againMs - 1 : SESSION_LIMITS.againMs + 1);
    assert.equal("session" in sessions.open(code, "mine"), isGood);
  }
});

Deno.test("there are only so many sessions: the one unused for longest ends", async () => {
  const { clock, sessions } = world();
  const keys: string[] = [];
  for (let n = 0; n <= SESSION_LIMITS.sessions; n++) {
    await clock.advance(6_000);
    const opened = sessions.open(sessions.newCode());
    assert.ok("session" in opened);
    keys.push(opened.session);
  }
  const [first, ...others] = keys;
  assert.ok(!sessions.has(first ?? ""));
  assert.ok(others.every((key) => sessions.has(key)));
});

const strangeKeys = ["", "x", "x".repeat(65), "x".repeat(1_000_000)];
for (const key of strangeKeys) {
  Deno.test(`a key of ${key.length} characters that nobody was given is no session`, () => {
    const { sessions } = world();
    assert.ok(!sessions.has(key));
    assert.deepEqual(sessions.open(key), { why: "wrong_code" });
  });
}
