/** Tests of `platform/base/resource_list.ts`: the texts are those of k8s.io/apimachinery. */
import { deepEqual } from "node:assert/strict";
import { ResourceSum } from "../../../platform/base/resource_list.ts";

const SUMS: Record<string, { lists: string[]; times?: number; want: string }> = {
  "keeps whole CPUs": { lists: ["1"], times: 102, want: "102" },
  "keeps milli": { lists: ["500m"], times: 3, want: "1500m" },
  "makes a whole number of milli": { lists: ["500m"], times: 4, want: "2" },
  "keeps Gi": { lists: ["4Gi"], times: 102, want: "408Gi" },
  "carries Mi to Gi": { lists: ["256Mi"], times: 8, want: "2Gi" },
  "writes the first notation": { lists: ["1Gi", "1G"], want: "2073741824" },
  "has a decimal sum of a decimal first": { lists: ["1G", "1Gi"], want: "2073741824" },
  "keeps a binary one that is odd": { lists: ["1Gi", "1"], want: "1073741825" },
  "writes thousands": { lists: ["1000", "1000"], want: "2k" },
  "writes exponents": { lists: ["1e3", "1e3"], want: "2e3" },
  "takes the notation after zero": { lists: ["0", "1Ki"], want: "1Ki" },
  "rounds below nano up": { lists: ["0.0000000001"], want: "1n" },
  "has a fraction": { lists: ["0.1", "0.2"], want: "300m" },
  "writes small binary ones without a suffix": { lists: ["0.5Ki"], want: "512" },
  "is zero": { lists: ["1"], times: 0, want: "0" },
};

for (const [sentence, { lists, times = 1, want }] of Object.entries(SUMS)) {
  Deno.test(`ResourceSum ${sentence}`, () => {
    const sum = new ResourceSum();
    for (const text of lists) sum.add({ it: text });
    deepEqual(sum.times(times).toList(), { it: want });
  });
}

Deno.test("ResourceSum raises each resource on its own", () => {
  const sum = new ResourceSum().add({ cpu: "1", memory: "2Gi" });
  deepEqual(sum.raise({ cpu: "1500m", memory: "1Gi", gpu: "1" }).toList(), {
    cpu: "1500m",
    memory: "2Gi",
    gpu: "1",
  });
});
