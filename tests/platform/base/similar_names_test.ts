/** Tests of similar names: slips are found, and what is like no name has no suggestion. */
import assert from "node:assert/strict";
import { didYouMean, similarNames } from "../../../platform/base/similar_names.ts";

const NAMES = ["softmax", "softmax-2", "paused", "mnist", "bert-large", "a"];

const TYPED: Readonly<Record<string, readonly string[]>> = {
  softmx: ["softmax", "softmax-2"],
  sotfmax: ["softmax"],
  softmaxx: ["softmax", "softmax-2"],
  soft: ["softmax", "softmax-2"],
  bert: ["bert-large"],
  pasued: ["paused"],
  minst: ["mnist"],
  resnet: [],
  b: [],
  "": [],
};

for (const [typed, want] of Object.entries(TYPED)) {
  Deno.test(`"${typed}" may mean ${want.join(", ") || "none of them"}`, () => {
    assert.deepEqual(similarNames(typed, NAMES), want);
  });
}

Deno.test("at most three names are suggested, in a sentence; of long names no more is compared than names have", () => {
  const names = ["job-1", "job-2", "job-3", "job-4"];
  assert.equal(didYouMean("job", names), "; did you mean job-1, job-2, or job-3?");
  assert.equal(didYouMean("job-1", ["job-1"]), "; did you mean job-1?");
  assert.equal(didYouMean("x", ["mnist"]), "");
  const long = "x".repeat(1_000_000);
  assert.deepEqual(similarNames(long, [`${long}y`]), [`${long}y`]);
});
