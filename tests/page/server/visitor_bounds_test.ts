/** Tests of the bounds of work for visitors: one visitor takes no other's part, and a place comes back whatever happens. */
import assert from "node:assert/strict";
import { type HttpResponse } from "../../../platform/http/message.ts";
import {
  createVisitorBounds,
  VISITOR_LIMITS,
  type VisitorWork,
} from "../../../page/server/visitor_bounds.ts";
import { FakeClock } from "../../support/fake_clock.ts";

const LIMITS = {
  ...VISITOR_LIMITS,
  logs: { total: 5, perSubject: 2 },
  readings: { total: 5, perSubject: 2 },
  atOnce: { total: 1, perKey: 1 },
};

const OK: HttpResponse = { status: 200, headers: {}, body: "" };
const from = (visitor: string, path: string, signal = new AbortController().signal) => ({
  visitor,
  path,
  signal,
});
const sink = { write: () => Promise.resolve(), signal: new AbortController().signal };
const received = { value: undefined };
const work = (answer: VisitorWork["answer"]): VisitorWork => ({
  receive: () => Promise.resolve(received),
  answer,
});

Deno.test("a visitor follows so many logs at once; those that end, break off or fail make room", async () => {
  const bounded = createVisitorBounds(new FakeClock(), LIMITS);
  const ends: (() => void)[] = [];
  const log = (user: string) =>
    bounded(
      from(user, "/logs/ns/pod"),
      work(() =>
        Promise.resolve({ ...OK, stream: () => new Promise((resolve) => ends.push(resolve)) })
      ),
    );
  const [first, second] = [await log("ada"), await log("ada")];
  const streams = [first, second].map(({ stream }) => stream?.(sink));
  assert.equal((await log("ada")).status, 429);
  const other = await log("bob");
  assert.equal(other.status, 200);
  ends.forEach((end) => end());
  await Promise.all(streams);
  assert.equal((await log("ada")).status, 200);

  const ofCyd = (answer: VisitorWork["answer"]) =>
    bounded(from("cyd", "/logs/ns/pod"), work(answer));
  await assert.rejects(ofCyd(() => Promise.reject(new Error("x"))));
  for (let count = 0; count < 9; count++) {
    assert.equal((await ofCyd(() => Promise.resolve(OK))).status, 200);
  }
});

Deno.test("requests are read for in turn; beyond the bounds they are told to come again", async () => {
  const clock = new FakeClock();
  const bounded = createVisitorBounds(clock, LIMITS);
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const read = (user: string, signal?: AbortSignal) =>
    bounded(
      from(user, "/objects/k/ns/n", signal),
      work(async () => {
        begun.push(user);
        await new Promise<void>((resolve) => ends.push(resolve));
        return OK;
      }),
    );
  const all = [read("ada"), read("ada"), read("bob")];
  await clock.advance(0);
  assert.equal((await read("ada")).status, 429);
  const gone = new AbortController();
  const left = read("cyd", gone.signal);
  gone.abort(new Error("left"));
  await assert.rejects(left, /left/);
  const waiting = [read("cyd"), read("dan")];
  assert.equal((await read("eve")).status, 503);
  for (let count = 0; count < 5; count++) {
    await clock.advance(0);
    assert.equal(begun.length, count + 1);
    ends[count]?.();
  }
  await Promise.all([...all, ...waiting]);
  assert.deepEqual(begun, ["ada", "bob", "cyd", "dan", "ada"]);
});

Deno.test("who has yet to send has no place; a refused body, and what takes too long, give theirs back", async () => {
  const clock = new FakeClock();
  const bounded = createVisitorBounds(clock, LIMITS);
  const answer = () => Promise.resolve(OK);
  const slow = { receive: () => new Promise<never>(() => {}), answer };
  void bounded(from("eve", "/delete/k/ns/n"), slow);
  assert.equal((await bounded(from("eve", "/objects/k/ns/n"), work(answer))).status, 200);
  const refusal = { ...OK, status: 413 };
  const refused = { receive: () => Promise.resolve({ refusal }), answer };
  for (let count = 0; count < 5; count++) {
    assert.equal((await bounded(from("ada", "/delete/k/ns/n"), refused)).status, 413);
  }
  const late = bounded(
    from("ada", "/objects/k/ns/n"),
    work((_, signal) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)))
    ),
  );
  const isLate = assert.rejects(late, /no answer within/);
  await clock.advance(LIMITS.readMs);
  await isLate;
  assert.equal((await bounded(from("ada", "/objects/k/ns/n"), work(answer))).status, 200);
});

Deno.test("the view has bounds of its own", async () => {
  const bounded = createVisitorBounds(new FakeClock(), LIMITS);
  const open = Array.from(
    { length: 9 },
    () => bounded(from("ada", "/view/v1/events"), work(() => Promise.resolve(OK))),
  );
  for (const { status } of await Promise.all(open)) assert.equal(status, 200);
});
