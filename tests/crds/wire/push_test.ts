/** Tests of the push body's bounds. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { readPush } from "../../../crds/wire/push.ts";
import { shownStatus } from "../../../crds/wire/sample.ts";

const TIME = "2025-01-23T10:30:45Z";
const encode = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
const status = (fields: Record<string, unknown>) => ({
  trainerStatus: { lastUpdatedTime: TIME, ...fields },
});
const metric = (name: string, value: unknown) => status({ metrics: [{ name, value }] });

const REFUSED: Record<string, { body: unknown; field: string; says: RegExp }> = {
  "a percentage of 101": {
    body: status({ progressPercentage: 101 }),
    field: "trainerStatus.progressPercentage",
    says: /0 to 100/,
  },
  "a percentage of -1": {
    body: status({ progressPercentage: -1 }),
    field: "trainerStatus.progressPercentage",
    says: /0 to 100/,
  },
  "a percentage of 1.5": {
    body: status({ progressPercentage: 1.5 }),
    field: "trainerStatus.progressPercentage",
    says: /whole number/,
  },
  "a percentage as text": {
    body: status({ progressPercentage: "45" }),
    field: "trainerStatus.progressPercentage",
    says: /whole number/,
  },
  "a container without a name": {
    body: { container: "" },
    field: "container",
    says: /1 to 63 characters/,
  },
  "half a step": {
    body: status({ step: 1.5 }),
    field: "trainerStatus.step",
    says: /whole number from 0 to 9007199254740991/,
  },
  "a negative step": {
    body: status({ step: -1 }),
    field: "trainerStatus.step",
    says: /whole number from 0/,
  },
  "a step as text": {
    body: status({ step: "7" }),
    field: "trainerStatus.step",
    says: /whole number/,
  },
  "a checkpoint that is no object": {
    body: status({ checkpoint: 1200 }),
    field: "trainerStatus.checkpoint",
    says: /must be an object with step/,
  },
  "a checkpoint without a step": {
    body: status({ checkpoint: { location: "/a" } }),
    field: "trainerStatus.checkpoint.step",
    says: /whole number from 0/,
  },
  "a checkpoint of no number, as JSON has NaN": {
    body: status({ checkpoint: { step: NaN } }),
    field: "trainerStatus.checkpoint.step",
    says: /whole number from 0/,
  },
  "a checkpoint of a negative step": {
    body: status({ checkpoint: { step: -1 } }),
    field: "trainerStatus.checkpoint.step",
    says: /whole number from 0/,
  },
  "a location of 513 characters": {
    body: status({ checkpoint: { step: 1, location: "x".repeat(513) } }),
    field: "trainerStatus.checkpoint.location",
    says: /at most 512 characters/,
  },
  "a location with a control character": {
    body: status({ checkpoint: { step: 1, location: "/a\n/b" } }),
    field: "trainerStatus.checkpoint.location",
    says: /must not have control characters/,
  },
  "a location that turns what follows": {
    body: status({ checkpoint: { step: 1, location: "/a\u202e/b" } }),
    field: "trainerStatus.checkpoint.location",
    says: /must not have control characters/,
  },
  "a location that is a number": {
    body: status({ checkpoint: { step: 1, location: 7 } }),
    field: "trainerStatus.checkpoint.location",
    says: /string of at most 512/,
  },
  "negative seconds": {
    body: status({ estimatedRemainingSeconds: -1 }),
    field: "trainerStatus.estimatedRemainingSeconds",
    says: /0 to 2147483647/,
  },
  "seconds beyond 32 bits": {
    body: status({ estimatedRemainingSeconds: 2 ** 31 }),
    field: "trainerStatus.estimatedRemainingSeconds",
    says: /0 to 2147483647/,
  },
  "257 metrics": {
    body: status({ metrics: Array(257).fill({ name: "a", value: "1" }) }),
    field: "trainerStatus.metrics",
    says: /at most 256/,
  },
  "metrics that are no list": {
    body: status({ metrics: {} }),
    field: "trainerStatus.metrics",
    says: /list of at most 256/,
  },
  "257 metrics that are unchanged": {
    body: status({ unchanged: Array(257).fill({ name: "a", value: "1" }) }),
    field: "trainerStatus.unchanged",
    says: /at most 256/,
  },
  "a metric that is no object": {
    body: status({ metrics: [1] }),
    field: "trainerStatus.metrics[0]",
    says: /name and value/,
  },
  "a metric without value": {
    body: status({ metrics: [{ name: "a", value: "1" }, { name: "loss" }] }),
    field: "trainerStatus.metrics[1].value",
    says: /1 to 64/,
  },
  "a name of 65 characters": {
    body: metric("x".repeat(65), "1"),
    field: "trainerStatus.metrics[0].name",
    says: /1 to 64/,
  },
  "an empty name": {
    body: metric("", "1"),
    field: "trainerStatus.metrics[0].name",
    says: /1 to 64/,
  },
  "a value of 65 characters": {
    body: metric("a", "1".repeat(65)),
    field: "trainerStatus.metrics[0].value",
    says: /1 to 64/,
  },
  "an empty value": {
    body: metric("a", ""),
    field: "trainerStatus.metrics[0].value",
    says: /1 to 64/,
  },
  "a value that is a number": {
    body: metric("a", 0.5),
    field: "trainerStatus.metrics[0].value",
    says: /string/,
  },
  "no lastUpdatedTime": {
    body: { trainerStatus: { progressPercentage: 1 } },
    field: "trainerStatus.lastUpdatedTime",
    says: /lastUpdatedTime is required when trainerStatus is present/,
  },
  "a null lastUpdatedTime": {
    body: status({ lastUpdatedTime: null }),
    field: "trainerStatus.lastUpdatedTime",
    says: /required/,
  },
  "a time without zone": {
    body: status({ lastUpdatedTime: "2025-01-23T10:30:45" }),
    field: "trainerStatus.lastUpdatedTime",
    says: /RFC 3339/,
  },
  "a time without seconds": {
    body: status({ lastUpdatedTime: "2025-01-23T10:30Z" }),
    field: "trainerStatus.lastUpdatedTime",
    says: /RFC 3339/,
  },
  "the 30th of February": {
    body: status({ lastUpdatedTime: "2025-02-30T10:30:45Z" }),
    field: "trainerStatus.lastUpdatedTime",
    says: /RFC 3339/,
  },
  "a lastUpdatedTime that is in the year 10000 in UTC": {
    body: status({ lastUpdatedTime: "9999-12-31T23:59:59-01:00" }),
    field: "trainerStatus.lastUpdatedTime",
    says: /RFC 3339/,
  },
  "a time as a number": {
    body: status({ lastUpdatedTime: 1737628245 }),
    field: "trainerStatus.lastUpdatedTime",
    says: /RFC 3339/,
  },
  "a trainerStatus that is a list": {
    body: { trainerStatus: [] },
    field: "trainerStatus",
    says: /object/,
  },
  "a sequence of 1.5": {
    body: { ...status({}), sequence: 1.5 },
    field: "sequence",
    says: /whole number/,
  },
  "a list": { body: [], field: "", says: /JSON object/ },
  "a text": { body: "x", field: "", says: /JSON object/ },
};

for (const [sentence, { body, field, says }] of Object.entries(REFUSED)) {
  Deno.test(`\`readPush()\` refuses ${sentence}`, () => {
    const read = readPush(encode(body));
    assert(!read.ok);
    assert.equal(read.causes[0]?.field, field);
    assert.match(read.causes[0]?.message ?? "", says);
  });
}

const TAKEN: Record<string, { body: unknown; want: unknown }> = {
  "an empty object": { body: {}, want: {} },
  "null": { body: null, want: {} },
  "a null trainerStatus": { body: { trainerStatus: null }, want: {} },
  "every field at its bound": {
    body: {
      trainerStatus: {
        progressPercentage: 100,
        estimatedRemainingSeconds: 2 ** 31 - 1,
        metrics: Array(256).fill({ name: "n".repeat(64), value: "v".repeat(64) }),
        lastUpdatedTime: TIME,
      },
      sequence: 0,
    },
    want: {
      trainerStatus: {
        progressPercentage: 100,
        estimatedRemainingSeconds: 2 ** 31 - 1,
        metrics: Array(256).fill({ name: "n".repeat(64), value: "v".repeat(64) }),
        lastUpdatedTime: TIME,
      },
      sequence: 0,
    },
  },
  "64 characters outside the basic plane": {
    body: metric("a", "\u{1F600}".repeat(64)),
    want: metric("a", "\u{1F600}".repeat(64)),
  },
  "unknown fields, which it leaves out": {
    body: {
      other: 1,
      trainerStatus: { x: 1, lastUpdatedTime: TIME, metrics: [{ name: "a", value: "1", y: 2 }] },
    },
    want: { trainerStatus: { lastUpdatedTime: TIME, metrics: [{ name: "a", value: "1" }] } },
  },
  "nulls, which count as absent": {
    body: { ...status({ progressPercentage: null, metrics: null }), sequence: null },
    want: status({}),
  },
  "checkpoints, of which an empty location is none": {
    body: status({ checkpoint: { step: 0, location: "" }, step: null }),
    want: status({ checkpoint: { step: 0 } }),
  },
  "a location of 512 characters": {
    body: status({ checkpoint: { step: 7, location: "x".repeat(512), more: 1 } }),
    want: status({ checkpoint: { step: 7, location: "x".repeat(512) } }),
  },
  "the SDK's microseconds and offset": {
    body: status({ lastUpdatedTime: "2025-01-23T10:30:45.123456+00:00" }),
    want: status({ lastUpdatedTime: "2025-01-23T10:30:45.123456+00:00" }),
  },
};

for (const [sentence, { body, want }] of Object.entries(TAKEN)) {
  Deno.test(`\`readPush()\` takes ${sentence}`, () => {
    assert.deepEqual(readPush(encode(body)), { ok: true, push: want });
  });
}

Deno.test("`readPush()` refuses what is not JSON in UTF-8", () => {
  for (const bytes of [[], [0x7b], [0xff, 0xfe], [0x22, 0xc3, 0x22]]) {
    const read = readPush(Uint8Array.from(bytes));
    assert(!read.ok);
    assert.match(read.causes[0]?.message ?? "", /JSON/);
  }
});

Deno.test("`readPush()` names at most 20 causes", () => {
  const read = readPush(encode(status({ metrics: Array(256).fill(0) })));
  assert(!read.ok);
  assert.equal(read.causes.length, 20);
});

Deno.test("`readPush()` takes any bytes without throwing", () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
    readPush(bytes);
  }));
  const anything = fc.anything({ maxDepth: 4 });
  const pushLike = fc.record({
    trainerStatus: fc.oneof(
      anything,
      fc.record({
        progressPercentage: fc.oneof(anything, fc.integer()),
        estimatedRemainingSeconds: fc.oneof(anything, fc.double()),
        metrics: fc.oneof(anything, fc.array(anything)),
        lastUpdatedTime: fc.oneof(anything, fc.string()),
      }, { requiredKeys: [] }),
    ),
    sequence: anything,
  }, { requiredKeys: [] });
  fc.assert(fc.property(pushLike, (body) => {
    const read = readPush(encode(JSON.parse(JSON.stringify(body) ?? "null")));
    assert(read.ok || read.causes.length > 0);
  }));
});

Deno.test("`readPush()` survives deep nesting", () => {
  const deep = "[".repeat(32_000) + "]".repeat(32_000);
  const body = `{"x":${deep},"trainerStatus":${deep}}`;
  assert(!readPush(new TextEncoder().encode(body)).ok);
});

Deno.test("`readPush()` reads the step of a push, null as none", () => {
  const stepOf = (step: unknown) => {
    const read = readPush(encode(status({ step })));
    return read.ok ? read.push.trainerStatus : read.causes;
  };
  assert.deepEqual(stepOf(0), { step: 0, lastUpdatedTime: TIME });
  assert.deepEqual(stepOf(Number.MAX_SAFE_INTEGER), {
    step: Number.MAX_SAFE_INTEGER,
    lastUpdatedTime: TIME,
  });
  assert.deepEqual(stepOf(null), { lastUpdatedTime: TIME });
});

/** `n` metrics whose names begin with a text. */
const named = (text: string, n: number) =>
  Array.from({ length: n }, (_, i) => ({ name: `${text}${i}`, value: "1" }));

/** What is pushed, and the metrics that the job shows then. */
const SHOWN: Readonly<Record<string, readonly [Record<string, unknown>, unknown]>> = {
  "metrics": [{ metrics: named("a", 2), step: 1 }, named("a", 2)],
  "metrics and those that are unchanged": [
    { metrics: named("a", 1), unchanged: named("b", 2) },
    [...named("a", 1), ...named("b", 2)],
  ],
  "those that are unchanged alone": [{ unchanged: named("b", 1) }, named("b", 1)],
  "more than a job shows": [
    { metrics: named("a", 255), unchanged: named("b", 3) },
    [...named("a", 255), ...named("b", 1)],
  ],
  "null": [{ metrics: null, unchanged: null }, undefined],
};
for (const [name, [fields, shown]] of Object.entries(SHOWN)) {
  Deno.test(`the status of a job shows what was pushed: ${name}`, () => {
    const read = readPush(encode(status(fields)));
    assert.ok(read.ok && read.push.trainerStatus);
    const { metrics, lastUpdatedTime, ...others } = shownStatus(read.push.trainerStatus);
    assert.deepEqual([metrics, lastUpdatedTime, others], [shown, TIME, {}]);
  });
}
