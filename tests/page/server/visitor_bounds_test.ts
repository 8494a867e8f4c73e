/** Tests of the bounds of work for visitors: one visitor takes no other's part, and a place comes back whatever happens. */
import assert from "node:assert/strict";
import type { HttpRequest, HttpResponse } from "../../../http/message.ts";
import { createVisitorBounds } from "../../../page/server/visitor_bounds.ts";

const LIMITS = {
  logs: { total: 5, perSubject: 2 },
  readings: { total: 5, perSubject: 2 },
  readingsAtOnce: 1,
} as const;

const OK: HttpResponse = { status: 200, headers: {}, body: "" };
const from = (user: string, signal = new AbortController().signal): HttpRequest => ({
  method: "GET",
  url: "/",
  peer: "192.0.2.1",
  header: () => `Bearer ${user}`,
  readBody: () => Promise.resolve(new Uint8Array()),
  signal: () => signal,
});
const sink = { write: () => Promise.resolve(), signal: new AbortController().signal };

Deno.test("a visitor follows so many logs at once; those that end, break off or fail make room", async () => {
  const bounded = createVisitorBounds(LIMITS);
  const ends: (() => void)[] = [];
  const log = (user: string) =>
    bounded(from(user), "/logs/ns/pod", () =>
      Promise.resolve({
        ...OK,
        stream: () => new Promise((resolve) => ends.push(resolve)),
      }));
  const [first, second] = [await log("ada"), await log("ada")];
  const streams = [first, second].map(({ stream }) => stream?.(sink));
  assert.equal((await log("ada")).status, 429);
  const other = await log("bob");
  assert.equal(other.status, 200);
  ends.forEach((end) => end());
  await Promise.all(streams);
  assert.equal((await log("ada")).status, 200);

  await assert.rejects(bounded(from("cyd"), "/logs/ns/pod", () => Promise.reject(new Error("x"))));
  for (let count = 0; count < 9; count++) {
    assert.equal(
      (await bounded(from("cyd"), "/logs/ns/pod", () => Promise.resolve(OK))).status,
      200,
    );
  }
});

Deno.test("requests are read for one after the other; beyond the bounds they are told to come again", async () => {
  const bounded = createVisitorBounds(LIMITS);
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const read = (user: string, signal?: AbortSignal) =>
    bounded(from(user, signal), "/objects/k/ns/n", async () => {
      begun.push(user);
      await new Promise<void>((resolve) => ends.push(resolve));
      return OK;
    });
  const all = [read("ada"), read("ada"), read("bob")];
  assert.equal((await read("ada")).status, 429);
  const gone = new AbortController();
  const left = read("cyd", gone.signal);
  gone.abort(new Error("left"));
  await assert.rejects(left, /left/);
  const waiting = [read("cyd"), read("dan")];
  assert.equal((await read("eve")).status, 503);
  for (let count = 0; count < 5; count++) {
    assert.equal(begun.length, count + 1);
    ends[count]?.();
    await [...all, ...waiting][count];
    await Promise.resolve();
  }
  assert.deepEqual(begun, ["ada", "ada", "bob", "cyd", "dan"]);
});

Deno.test("the view has bounds of its own", async () => {
  const bounded = createVisitorBounds(LIMITS);
  const open = Array.from(
    { length: 9 },
    () => bounded(from("ada"), "/view/v1/events", () => Promise.resolve(OK)),
  );
  for (const { status } of await Promise.all(open)) assert.equal(status, 200);
});
