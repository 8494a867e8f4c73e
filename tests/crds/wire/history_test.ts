/** Tests of bodies with histories: accepted ones, and the field names in refusals. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { parseHistory, readHistory } from "../../../crds/wire/history.ts";

const at = (second: number, more: Record<string, unknown> = {}) => ({
  lastUpdatedTime: `2026-01-01T00:00:${String(second).padStart(2, "0")}Z`,
  ...more,
});
const many = (count: number) => Array.from({ length: count }, () => at(1));

const TAKEN: Record<string, { samples: unknown[]; want: unknown }> = {
  "one sample": { samples: [at(1)], want: { trainerStatus: at(1), earlier: [] } },
  "samples in order, the newest last": {
    samples: [at(1), at(2), at(3, { progressPercentage: 7 })],
    want: { trainerStatus: at(3, { progressPercentage: 7 }), earlier: [at(1), at(2)] },
  },
  "samples of the same time": {
    samples: [at(1), at(1)],
    want: { trainerStatus: at(1), earlier: [at(1)] },
  },
  "times in order that are written in other zones": {
    samples: [at(1), { lastUpdatedTime: "2025-12-31T23:00:02-01:00" }],
    want: {
      trainerStatus: { lastUpdatedTime: "2025-12-31T23:00:02-01:00" },
      earlier: [at(1)],
    },
  },
  "what is unknown or null, and leaves it out": {
    samples: [at(1, { progressPercentage: null, later: {} })],
    want: { trainerStatus: at(1), earlier: [] },
  },
  "1,000 samples": {
    samples: many(1000),
    want: { trainerStatus: at(1), earlier: many(999) },
  },
  "no samples, which change nothing": { samples: [], want: {} },
};
for (const [sentence, { samples, want }] of Object.entries(TAKEN)) {
  Deno.test(`\`parseHistory()\` takes ${sentence}`, () => {
    assert.deepEqual(parseHistory({ samples, later: 1 }), { ok: true, push: want });
  });
}

const REFUSED: Record<string, { body: unknown; field: string; says: RegExp }> = {
  "null": { body: null, field: "", says: /JSON object with samples/ },
  "a list": { body: [at(1)], field: "", says: /JSON object with samples/ },
  "a push": { body: { trainerStatus: at(1) }, field: "samples", says: /list of at most 1000/ },
  "null samples": { body: { samples: null }, field: "samples", says: /list of at most 1000/ },
  "samples that are no list": {
    body: { samples: { 0: at(1) } },
    field: "samples",
    says: /list of at most 1000/,
  },
  "1,001 samples": { body: { samples: many(1001) }, field: "samples", says: /at most 1000/ },
  "an invalid sample": {
    body: { samples: [at(1), 5] },
    field: "samples[1]",
    says: /must be an object/,
  },
  "a null sample": {
    body: { samples: [null] },
    field: "samples[0]",
    says: /must be an object/,
  },
  "a sample without time": {
    body: { samples: [at(1), {}] },
    field: "samples[1].lastUpdatedTime",
    says: /required/,
  },
  "a percentage of 101": {
    body: { samples: [at(1), at(2), at(3, { progressPercentage: 101 })] },
    field: "samples[2].progressPercentage",
    says: /from 0 to 100/,
  },
  "a metric without a name": {
    body: { samples: [at(1), at(2), at(3), at(4, { metrics: [{ name: "", value: "1" }] })] },
    field: "samples[3].metrics[0].name",
    says: /1 to 64 characters/,
  },
  "257 metrics": {
    body: { samples: [at(1, { metrics: Array(257).fill({ name: "a", value: "1" }) })] },
    field: "samples[0].metrics",
    says: /at most 256 metrics/,
  },
  "times that go backwards": {
    body: { samples: [at(1), at(3), at(2)] },
    field: "samples[2].lastUpdatedTime",
    says: /not be before that of the sample before it/,
  },
};
for (const [sentence, { body, field, says }] of Object.entries(REFUSED)) {
  Deno.test(`\`parseHistory()\` refuses ${sentence}, and names the field`, () => {
    const parsed = parseHistory(body);
    assert(!parsed.ok);
    assert.equal(parsed.causes.length, 1, JSON.stringify(parsed.causes));
    assert.equal(parsed.causes[0]?.field, field);
    assert.match(parsed.causes[0]?.message ?? "", says);
  });
}

Deno.test("`parseHistory()` names at most 20 problems", () => {
  const metrics = Array(256).fill(1);
  const parsed = parseHistory({ samples: Array.from({ length: 1000 }, () => at(1, { metrics })) });
  assert(!parsed.ok);
  assert.equal(parsed.causes.length, 20);
  assert.equal(parsed.causes[19]?.field, "samples[0].metrics[19]");
});

Deno.test("`readHistory()` refuses what is not JSON in UTF-8", () => {
  for (const bytes of [[], [0x7b], [0xff], [...new TextEncoder().encode('{"samples":[]}]')]]) {
    assert.deepEqual(readHistory(new Uint8Array(bytes)), {
      ok: false,
      causes: [{ field: "", message: "must be JSON in UTF-8" }],
    });
  }
});

Deno.test("`parseHistory()` gives back every sample of an ordered history, in order", () => {
  const times = fc.array(fc.integer({ min: 0, max: 10 ** 12 }), { minLength: 1, maxLength: 50 });
  fc.assert(fc.property(times, (list) => {
    const samples = list.toSorted((a, b) => a - b)
      .map((ms) => ({ lastUpdatedTime: new Date(ms).toISOString() }));
    const parsed = parseHistory({ samples });
    assert(parsed.ok && parsed.push.trainerStatus !== undefined);
    assert.deepEqual([...parsed.push.earlier ?? [], parsed.push.trainerStatus], samples);
  }));
});

Deno.test("`parseHistory()` reads the container, null as none, and refuses one without a name", () => {
  const of = (container: unknown) => {
    const read = parseHistory({ samples: [at(1)], container });
    return read.ok ? read.push.container : read.causes;
  };
  assert.equal(of("node"), "node");
  assert.equal(of(null), undefined);
  assert.deepEqual(of(7), [{
    field: "container",
    message: "must be a string of 1 to 63 characters",
  }]);
});
