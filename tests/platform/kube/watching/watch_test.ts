/** Tests of the watch stream's decoder and state machine. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { KubeError, TransportError } from "../../../../platform/kube/errors.ts";
import {
  CorruptStreamError,
  decodeEvent,
  lines,
} from "../../../../platform/kube/watching/watch.ts";
import {
  FIRST_STATE,
  retryDelayMs,
  step,
  type WatchOutcome,
} from "../../../../platform/kube/watching/watch_state.ts";
import { WIDGET } from "../fake_api_server.ts";

async function* chunksOf(chunks: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) {
    await Promise.resolve();
    yield chunk;
  }
}

function cut(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const edges = [0, ...places.map((place) => place % (bytes.length + 1)), bytes.length];
  const sorted = edges.toSorted((a, b) => a - b);
  return sorted.slice(1).map((end, index) => bytes.subarray(sorted[index], end));
}

Deno.test("`lines()` gives the same lines for any chunks of the stream", async () => {
  const line = fc.string({ unit: "grapheme", maxLength: 30 }).filter((text) =>
    !/[\n\r\uFEFF]/.test(text) && text.trim() !== "" && text.isWellFormed()
  );
  await fc.assert(
    fc.asyncProperty(fc.array(line), fc.array(fc.nat()), async (texts, places) => {
      const bytes = new TextEncoder().encode(texts.map((text) => `${text}\n`).join("") + "rest");
      const got = await Array.fromAsync(lines(chunksOf(cut(bytes, places))));
      assert.deepEqual(got, texts);
    }),
  );
});

Deno.test("`lines()` refuses a line that is too long, at once", async () => {
  const endless = function* () {
    for (;;) yield new Uint8Array(10).fill(65);
  };
  await assert.rejects(Array.fromAsync(lines(chunksOf(endless()), 100)), CorruptStreamError);
  const long = new TextEncoder().encode("x".repeat(101) + "\n");
  await assert.rejects(Array.fromAsync(lines(chunksOf([long]), 100)), CorruptStreamError);
  assert.deepEqual(await Array.fromAsync(lines(chunksOf([long.subarray(1)]), 100)), [
    "x".repeat(100),
  ]);
});

const OBJECT = { metadata: { namespace: "ns", name: "a", resourceVersion: "5" } };
const TYPED = { apiVersion: "test.example/v1", kind: "Widget", ...OBJECT };
const EVENTS: Record<string, { line: unknown; want: unknown }> = {
  "an addition": {
    line: { type: "ADDED", object: OBJECT },
    want: { type: "added", object: TYPED },
  },
  "a change": {
    line: { type: "MODIFIED", object: TYPED },
    want: { type: "updated", object: TYPED },
  },
  "a deletion": {
    line: { type: "DELETED", object: TYPED },
    want: { type: "deleted", object: TYPED },
  },
  "a bookmark": {
    line: { type: "BOOKMARK", object: { metadata: { resourceVersion: "9" } } },
    want: { type: "bookmark", resourceVersion: "9" },
  },
  "an object that cannot be read": {
    line: { type: "DELETED", object: { ...OBJECT, spec: { broken: true } } },
    want: {
      type: "problem",
      key: "ns/a",
      resourceVersion: "5",
      problem: "a broken widget",
      deleted: true,
    },
  },
  "an invalid object": {
    line: { type: "ADDED", object: 7 },
    want: {
      type: "problem",
      key: "",
      resourceVersion: undefined,
      problem: "not an object",
      deleted: false,
    },
  },
  "a type of the future": { line: { type: "PONDERED", object: OBJECT }, want: undefined },
};

for (const [what, { line, want }] of Object.entries(EVENTS)) {
  Deno.test(`\`decodeEvent()\` reads ${what}`, () => {
    assert.deepEqual(decodeEvent(WIDGET, JSON.stringify(line)), want);
  });
}

Deno.test("`decodeEvent()` reads an error with its code", () => {
  const object = { kind: "Status", code: 410, reason: "Expired", message: "too old" };
  const event = decodeEvent(WIDGET, JSON.stringify({ type: "ERROR", object }));
  assert.ok(event?.type === "error");
  assert.deepEqual([event.error.code, event.error.reason], [410, "Expired"]);
  const odd = decodeEvent(WIDGET, '{"type":"ERROR","object":null}');
  assert.ok(odd?.type === "error" && odd.error.code === 500);
});

Deno.test("`decodeEvent()` throws for a line that is not an event", () => {
  for (const line of ["nonsense", "7", "null", "{}", '{"type":1,"object":{}}', "[]"]) {
    assert.throws(() => decodeEvent(WIDGET, line), CorruptStreamError, line);
  }
});

const LISTED: WatchOutcome = { type: "listed", resourceVersion: "1" };
const gone = new KubeError("too old", { code: 410, reason: "Expired" });
const busy = new KubeError("busy", { code: 429, reason: "TooManyRequests", retryAfterMs: 7000 });
const lost = new TransportError("broke off");

function ended(error?: unknown, progress = false, short = true): WatchOutcome {
  return { type: "ended", resourceVersion: "5", progress, short, error };
}

const COURSES: Record<string, { outcomes: WatchOutcome[]; want: string }> = {
  "lists first": { outcomes: [], want: "listing 0" },
  "watches after a list": { outcomes: [LISTED], want: "watching 0 from 1" },
  "waits after a list that failed": {
    outcomes: [{ type: "list_failed", error: lost }],
    want: "waiting 0 ms, then listing 1",
  },
  "lists again after the wait": {
    outcomes: [{ type: "list_failed", error: lost }, { type: "waited" }],
    want: "listing 1",
  },
  "waits as long as the server asks": {
    outcomes: [{ type: "list_failed", error: busy }],
    want: "waiting 7000 ms, then listing 1",
  },
  "watches on after a watch that ended in time": {
    outcomes: [LISTED, ended(undefined, false, false)],
    want: "watching 0 from 5",
  },
  "waits after a watch that ended at once": {
    outcomes: [LISTED, ended()],
    want: "waiting 0 ms, then watching 1 from 5",
  },
  "waits after a lost connection and continues from there": {
    outcomes: [LISTED, ended(lost, true)],
    want: "waiting 0 ms, then watching 1 from 5",
  },
  "lists at once after 410": { outcomes: [LISTED, ended(gone, true)], want: "listing 1" },
  "waits when the list was followed by 410 again": {
    outcomes: [LISTED, ended(gone, true), LISTED, ended(gone)],
    want: "waiting 0 ms, then listing 2",
  },
  "keeps watching however often the connection is lost": {
    outcomes: [LISTED, ...Array(20).fill([ended(lost), { type: "waited" }]).flat()],
    want: "watching 20 from 5",
  },
  "lists when the server keeps refusing the watch": {
    outcomes: [LISTED, ...Array(5).fill([ended(busy), { type: "waited" }]).flat()],
    want: "listing 5",
  },
  "watches again after one garbled stream": {
    outcomes: [LISTED, ended(new CorruptStreamError("garbage"))],
    want: "waiting 0 ms, then watching 1 from 5",
  },
  "lists after two garbled streams": {
    outcomes: [
      LISTED,
      ended(new CorruptStreamError("garbage")),
      { type: "waited" },
      ended(new CorruptStreamError("garbage")),
    ],
    want: "waiting 0 ms, then listing 2",
  },
};

function told(state: ReturnType<typeof step>): string {
  if (state.phase === "waiting") return `waiting ${state.atLeastMs} ms, then ${told(state.next)}`;
  const from = state.phase === "watching" ? ` from ${state.resourceVersion}` : "";
  return `${state.phase} ${state.failures}${from}`;
}

for (const [sentence, { outcomes, want }] of Object.entries(COURSES)) {
  Deno.test(`\`step()\` ${sentence}`, () => {
    assert.equal(told(outcomes.reduce(step, FIRST_STATE)), want);
  });
}

Deno.test("`retryDelayMs()` grows to half a minute", () => {
  assert.equal(retryDelayMs(1, () => 1), 200);
  assert.equal(retryDelayMs(1, () => 0), 100);
  assert.equal(retryDelayMs(1000, () => 1), 30_000);
  assert.equal(retryDelayMs(1000, () => 1, 5_000), 5_000);
});

Deno.test("`step()` pauses at most 5 s if the server is unreachable, otherwise at most 30 s", () => {
  const longest = (error: unknown) => {
    const state = step(FIRST_STATE, { type: "list_failed", error });
    return state.phase === "waiting" ? state.atMostMs : undefined;
  };
  assert.equal(longest(lost), 5_000);
  assert.equal(longest(new KubeError("no", { code: 500, reason: "InternalError" })), 30_000);
});
