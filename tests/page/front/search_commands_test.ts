/** Tests of the commands by which jobs become a search. */
import assert from "node:assert/strict";
import { searchCommands } from "../../../page/front/searches/search_commands.ts";

const cases: Readonly<Record<string, { keys: string[]; want: string[] }>> = {
  "jobs of one kind and namespace": {
    keys: ["trainjobs.x/ml/a", "trainjobs.x/ml/b"],
    want: ["-n ml trainjobs.x a b"],
  },
  "jobs of several": {
    keys: ["trainjobs.x/ml/a", "pytorchjobs.y/ml/b", "trainjobs.x/other/c"],
    want: ["-n ml trainjobs.x a", "-n ml pytorchjobs.y b", "-n other trainjobs.x c"],
  },
  "hostile names, which are no commands": {
    keys: ["trainjobs.x/ml/a;rm -rf", "nothing"],
    want: ["-n ml trainjobs.x 'a;rm -rf'"],
  },
};
for (const [what, { keys, want }] of Object.entries(cases)) {
  Deno.test(`searchCommands() of ${what}`, () => {
    const lines = want.map((it) => `kubectl label ${it} katib.kubeflow.org/experiment=my-search`);
    assert.equal(searchCommands(keys), lines.join("\n"));
  });
}
