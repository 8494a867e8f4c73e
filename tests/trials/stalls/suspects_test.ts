/** Tests of the pods that stand out in a stall. */
import assert from "node:assert/strict";
import { type HeardPod, suspectsOf } from "../../../trials/stalls/suspects.ts";

/** Pods, such as `a 3s: 0@812 train.py:88, 1@812 train.py:88`: heard so long ago, with rank, step and place. */
function pod(text: string): HeardPod {
  const [head = "", rest = ""] = text.split(": ");
  const [name = "", silent = "0s"] = head.split(" ");
  const silentMs = parseFloat(silent) * 1000;
  return {
    name,
    node: `node-of-${name}`,
    heardMs: Date.parse("2026-01-01T00:00:00Z") - silentMs,
    silentMs,
    ranks: rest === "" ? [] : rest.split(", ").map((one) => {
      const [at = "", place] = one.split(" ");
      const [rank, step] = at.split("@").map(Number);
      return { rank: rank ?? NaN, step: step ?? NaN, place };
    }),
  };
}

const CASES: Readonly<Record<string, { pods: string[]; named: string[]; words: string }>> = {
  "pods without heartbeats": { pods: ["a 3s", "b 90s"], named: [], words: "" },
  "one that is silent": {
    pods: ["a 3s: 0@812 train.py:88", "b 30s: 1@811 train.py:88", "c 4s: 2@812 train.py:88"],
    named: ["b"],
    words: "b not heard of since 2025-12-31T23:59:30Z",
  },
  "one of two that is silent": {
    pods: ["a 3s: 0@812 train.py:88", "b 20s: 1@812 train.py:88"],
    named: ["b"],
    words: "b not heard of since 2025-12-31T23:59:40Z",
  },
  "all that are silent": {
    pods: ["a 30s: 0@812 train.py:88", "b 30s: 1@812 train.py:88"],
    named: [],
    words: "none of its pods heard of since 2025-12-31T23:59:30Z",
  },
  "all that are silent, of which one was heard before the others": {
    pods: ["a 30s: 0@812 train.py:88", "b 31s: 1@812 train.py:88", "c 38s: 2@790 train.py:88"],
    named: [],
    words: "none of its pods heard of since 2025-12-31T23:59:30Z",
  },
  "a single process that is silent": {
    pods: ["a 20s: 0@812 train.py:88"],
    named: [],
    words: "none of its pods heard of since 2025-12-31T23:59:40Z",
  },
  "one that is elsewhere": {
    pods: ["a: 0@812 train.py:88", "b: 1@812 train.py:88", "c: 2@812 loader.py:40"],
    named: ["c"],
    words: "c at step 812 in loader.py:40, where others are at step 812 in train.py:88",
  },
  "one that is behind, among the processes of its pod": {
    pods: [
      "a: 0@812 train.py:88, 1@812 train.py:88",
      "b: 2@812 train.py:88, 3@810 train.py:88",
    ],
    named: ["b"],
    words: "b at step 810 in train.py:88, where others are at step 812 in train.py:88",
  },
  "all alike": {
    pods: ["a: 0@812 train.py:88", "b: 1@812 train.py:88", "c: 2@812 train.py:88"],
    named: [],
    words: "all 3 ranks at step 812 in train.py:88",
  },
  "two of which nobody can say which is right": {
    pods: ["a: 0@812 train.py:88", "b: 1@812 loader.py:40"],
    named: [],
    words: "ranks at step 812 in train.py:88, at step 812 in loader.py:40",
  },
  "one that is behind, where the others wait in different lines": {
    pods: ["a: 0@97 train.py:15", "b: 1@97 train.py:18", "c: 2@88 train.py:23"],
    named: ["c"],
    words: "c at step 88 in train.py:23, where others are at step 97",
  },
  "a single process": {
    pods: ["a: 0@812 train.py:88"],
    named: [],
    words: "at step 812 in train.py:88",
  },
  "steps without places": {
    pods: ["a: 0@812", "b: 1@812", "c: 2@700"],
    named: ["c"],
    words: "c at step 700, where others are at step 812",
  },
};
for (const [what, { pods, named, words }] of Object.entries(CASES)) {
  Deno.test(`\`suspectsOf()\`: ${what}`, () => {
    const found = suspectsOf(pods.map(pod));
    assert.deepEqual(
      found.pods.map(({ name, node }) => [name, node]),
      named.map((it) => [it, `node-of-${it}`]),
    );
    assert.equal(found.words, words);
  });
}

Deno.test("`suspectsOf()` names at most eight pods", () => {
  const some = Array.from({ length: 20 }, (_, at) => pod(`p${at}: ${at}@${at} x`));
  const most = Array.from({ length: 21 }, (_, at) => pod(`m${at}: ${at + 20}@99 y`));
  assert.equal(suspectsOf([...some, ...most]).pods.length, 8);
});
