/** Tests of the pure parts of reading: newer statuses, and queries. */
import assert from "node:assert/strict";
import { readQuery } from "../../../status/reading/read_query.ts";
import { isNews, type JobStatus, statusView, timeOf } from "../../../owner/ledger/reading.ts";

const EARLY = "2026-01-01T00:00:00Z";
const LATE = "2026-01-01T00:00:01Z";
const pushed = (percentage: number, receivedTime = EARLY): JobStatus => ({
  trainerStatus: { progressPercentage: percentage, lastUpdatedTime: EARLY },
  receivedTime,
  pod: "pod-1",
});
const own = (percentage: number, lastUpdatedTime: string): JobStatus => ({
  trainerStatus: { progressPercentage: percentage, lastUpdatedTime },
  receivedTime: lastUpdatedTime,
});

const news: Record<string, { next: JobStatus; last: JobStatus | undefined; want: boolean }> = {
  "the first there is": { next: own(1, EARLY), last: undefined, want: true },
  "a push after a push": { next: pushed(2, LATE), last: pushed(1), want: true },
  "a push that came with an older time": { next: pushed(2), last: pushed(1, LATE), want: true },
  "the very same push, no news": { next: pushed(1), last: pushed(1), want: false },
  "a push after an object's own": { next: pushed(1), last: own(2, LATE), want: true },
  "an object's own that is older, no news": { next: own(2, EARLY), last: pushed(1), want: false },
  "an object's own that is newer": { next: own(2, LATE), last: pushed(1), want: true },
  "an object's own without a time, no news": { next: own(2, "?"), last: pushed(1), want: false },
};
for (const [sentence, { next, last, want }] of Object.entries(news)) {
  Deno.test(`\`isNews()\` judges ${sentence}`, () => assert.equal(isNews(next, last), want));
}

Deno.test("`statusView()` leaves out the pod of an object's own status", () => {
  assert.deepEqual(Object.keys(statusView(own(1, EARLY))), ["trainerStatus", "receivedTime"]);
  assert.deepEqual(statusView(pushed(1)).pod, "pod-1");
});

Deno.test("`timeOf()` returns 0 for text that is not a time", () => {
  assert.deepEqual([timeOf("x"), timeOf("1970-01-01T00:00:01Z")], [0, 1000]);
});

const queries: Record<string, "read" | "watch"> = {
  "": "read",
  "watch=false": "read",
  "watch=0": "read",
  "watch=true": "watch",
  "watch=1": "watch",
  "w%61tch=true": "watch",
};
for (const [query, want] of Object.entries(queries)) {
  Deno.test(`\`readQuery()\` takes "${query}" for a ${want}`, () => {
    assert.deepEqual(readQuery(query), { route: want });
  });
}

const wrongQueries: Record<string, string[]> = {
  "watch": ["watch"],
  "watch=": ["watch"],
  "watch=TRUE": ["watch"],
  "watch=yes": ["watch"],
  "watch=true&watch=true": ["watch"],
  "wacth=true": ["wacth"],
  "watch=true&since=1": ["since"],
  "watch=2&since=1&since=2": ["since", "watch"],
  "=": [""],
  "%00=1": ["\0"],
};
for (const [query, want] of Object.entries(wrongQueries)) {
  Deno.test(`\`readQuery()\` refuses "${query}" and names what is wrong`, () => {
    const read = readQuery(query);
    assert("causes" in read);
    assert.deepEqual(read.causes.map(({ field }) => field), want);
  });
}

Deno.test("`readQuery()` names at most 20 problems, each shortened", () => {
  const names = Array.from({ length: 500 }, (_, index) => `${"x".repeat(200)}${index}=1`);
  const read = readQuery(names.join("&"));
  assert("causes" in read);
  assert.equal(read.causes.length, 20);
  assert.ok(read.causes.every(({ field }) => field.length <= 64));
});
