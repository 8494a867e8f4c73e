/** Tests of `controller/runtime/quantity.ts`. */
import { equal } from "node:assert/strict";
import { roundUp } from "../../../controller/runtime/quantity.ts";

const CASES: Record<string, { text: string | number | undefined; want: number | undefined }> = {
  "keeps a whole number": { text: "4", want: 4 },
  "reads a number that is not text": { text: 4, want: 4 },
  "rounds thousandths up": { text: "2500m", want: 3 },
  "does not round what is whole": { text: "2000m", want: 2 },
  "rounds a fraction up": { text: "0.1", want: 1 },
  "reads a fraction without whole part": { text: ".5", want: 1 },
  "reads a point without fraction": { text: "2.", want: 2 },
  "rounds the smallest unit up": { text: "1n", want: 1 },
  "reads micro": { text: "1000001u", want: 2 },
  "keeps zero": { text: "0", want: 0 },
  "rounds a negative number towards zero": { text: "-1500m", want: -1 },
  "takes a plus": { text: "+3", want: 3 },
  "reads decimal suffixes": { text: "2k", want: 2000 },
  "reads binary suffixes": { text: "1.5Ki", want: 1536 },
  "reads exponents": { text: "15e-1", want: 2 },
  "is exact where floating point is not": { text: "9007199254740991", want: 9007199254740991 },
  "refuses what is beyond safe integers": { text: "9E", want: undefined },
  "refuses huge exponents": { text: "1e999", want: undefined },
  "refuses text": { text: "many", want: undefined },
  "refuses an empty text": { text: "", want: undefined },
  "refuses an unknown suffix": { text: "1Q", want: undefined },
  "has nothing for nothing": { text: undefined, want: undefined },
};

for (const [sentence, { text, want }] of Object.entries(CASES)) {
  Deno.test(`roundUp() ${sentence}`, () => equal(roundUp(text), want));
}
