/** Tests of the hub of feeds: what shares a stream, and who hears what of it. */
import assert from "node:assert/strict";
import {
  createFeedHub,
  STREAM_BOUNDS,
  type Subscription,
} from "../../../../page/front/feed/feed_hub.ts";
import type { FeedOptions } from "../../../../page/front/feed/view_state.ts";
import { until } from "../../../support/until.ts";

/** A hub whose streams are opened here. */
function bench() {
  const opened: (FeedOptions & { isOpen: boolean })[] = [];
  const hub = createFeedHub((options) => {
    const stream = { ...options, isOpen: true };
    opened.push(stream);
    options.onConnection({ phase: "connecting" });
    return () => {
      stream.isOpen = false;
    };
  });
  const heard = new Map<object, unknown[]>();
  const subscribe = (id: object, list: string, jobs: readonly string[] = [], key = "k") => {
    const own: unknown[] = [];
    heard.set(id, own);
    hub.subscribe(id, { key, list, jobs }, {
      onEvent: (event, data) => own.push([event, data]),
      onConnection: ({ phase }) => own.push(phase),
    });
  };
  const streams = (count: number) =>
    until(`${count} streams`, () => {
      const open = opened.filter(({ isOpen }) => isOpen);
      return Promise.resolve(open.length === count ? open : undefined);
    });
  const parametersOf = ({ path }: FeedOptions) => new URL(path, "http://a").searchParams;
  return { hub, subscribe, heard, opened, streams, parametersOf };
}

const job = (name: string) => ({ kind: "k.g", namespace: "a", name });

Deno.test("subscribers of one key share a stream of all that they show, each thing once", async () => {
  const { hub, subscribe, streams, parametersOf } = bench();
  const [one, two, three] = [{}, {}, {}];
  subscribe(one, "text=a", ["k.g/a/x"]);
  subscribe(two, "text=a", ["k.g/a/x", "k.g/a/y"]);
  subscribe(three, "text=b");
  const [stream] = await streams(1);
  assert.ok(stream !== undefined);
  assert.deepEqual(parametersOf(stream).getAll("list"), ["text=a", "text=b"]);
  assert.deepEqual(parametersOf(stream).getAll("job"), ["k.g/a/x", "k.g/a/y"]);
  assert.equal(stream.key, "k");
  for (const id of [one, two, three]) hub.leave(id);
  await streams(0);
  assert.equal(hub.streams, 0);
});

Deno.test("each subscriber hears only of its own list and jobs", async () => {
  const { hub, subscribe, heard, streams } = bench();
  const [one, two, lists] = [{}, {}, {}];
  subscribe(one, "text=a", ["k.g/a/x"]);
  subscribe(two, "text=b", ["k.g/a/y"]);
  subscribe(lists, "text=b");
  const [stream] = await streams(1);
  stream?.onConnection({ phase: "live" });
  stream?.onEvent("jobs", { list: 0, rows: [] });
  stream?.onEvent("refused", { list: 1, code: 403, message: "no" });
  stream?.onEvent("curves", { curves: [{ job: job("x") }], missing: [job("y")] });
  stream?.onEvent("outage", { reason: "r" });
  stream?.onEvent("jobs", { list: 7, rows: [] });
  stream?.onEvent("jobs", { list: 1, rows: [] });
  assert.deepEqual(heard.get(one), [
    "live",
    ["jobs", { list: 0, rows: [] }],
    ["curves", { curves: [{ job: job("x") }], missing: [] }],
    ["outage", { reason: "r" }],
  ]);
  assert.deepEqual(heard.get(two), [
    "live",
    "refused",
    ["curves", { curves: [], missing: [job("y")] }],
    ["outage", { reason: "r" }],
    "live",
    ["jobs", { list: 1, rows: [] }],
  ]);
  assert.deepEqual(heard.get(lists), ["live", "refused", "live", ["jobs", { list: 1, rows: [] }]]);
  for (const id of [one, two, lists]) hub.leave(id);
});

Deno.test("a subscriber that turns elsewhere opens the stream anew, which the others do not notice", async () => {
  const { hub, subscribe, heard, opened, streams, parametersOf } = bench();
  const [one, two] = [{}, {}];
  subscribe(one, "text=a");
  subscribe(two, "text=b");
  const [first] = await streams(1);
  first?.onConnection({ phase: "live" });
  subscribe(two, "text=c");
  const second = await until("another stream", () => Promise.resolve(opened[1]));
  assert.equal(first?.isOpen, false);
  assert.deepEqual(parametersOf(second).getAll("list"), ["text=a", "text=c"]);
  assert.deepEqual(heard.get(one), ["live"]);
  for (const id of [one, two]) hub.leave(id);
});

Deno.test("sessions have streams of their own, and so has what one request has no room for", async () => {
  const { hub, subscribe, streams, parametersOf } = bench();
  const ids = Array.from({ length: STREAM_BOUNDS.lists + 2 }, () => ({}));
  ids.forEach((id, index) => subscribe(id, `text=${index}`));
  const other = {};
  subscribe(other, "text=0", [], "another");
  const open = await streams(3);
  assert.deepEqual(open.map((it) => [it.key, parametersOf(it).getAll("list").length]), [
    ["k", STREAM_BOUNDS.lists],
    ["k", 2],
    ["another", 1],
  ]);
  for (const id of [...ids, other]) hub.leave(id);
});

const long: Record<string, Subscription> = {
  "jobs": {
    key: "k",
    list: "",
    jobs: Array.from({ length: 60 }, (_, index) => `k.g/a/${"n".repeat(60)}${index}`),
  },
  "a list": { key: "k", list: `text=${"n".repeat(4_000)}`, jobs: [] },
};
for (const [sentence, { list, jobs }] of Object.entries(long)) {
  Deno.test(`no line of a request grows too long: ${sentence}`, async () => {
    const { hub, subscribe, streams } = bench();
    const [one, two] = [{}, {}];
    subscribe(one, `${list}`, jobs);
    subscribe(two, `${list}&offset=1`, jobs.map((it) => `${it}b`));
    for (const { path } of await streams(2)) {
      assert.ok(path.length <= STREAM_BOUNDS.characters, `${path.length}`);
    }
    for (const id of [one, two]) hub.leave(id);
  });
}
