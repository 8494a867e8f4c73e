/** Tests of the example trial controller as tests install it. */
import assert from "node:assert/strict";
import { controllerObjects } from "./controller_objects.ts";
import { OBSERVATION_AUDIENCE } from "../../../crds/names.ts";

const folder = new URL("../../../examples/trial-controller/", import.meta.url);
const objects = controllerObjects("team", { API_SERVER: "https://here:1" });
const jobs = objects.filter(({ kind }) => kind === "Job");

Deno.test("`controllerObjects()` places account, rights and Job into a namespace", () => {
  const kinds = objects.map(({ kind }) => kind);
  assert.deepEqual(kinds, ["ServiceAccount", "Role", "RoleBinding", "Job"]);
  assert.ok(objects.every(({ metadata }) => metadata.namespace === "team"));
  assert.partialDeepStrictEqual(objects[2], {
    subjects: [{ kind: "ServiceAccount", name: "trial-controller", namespace: "team" }],
  });
});

Deno.test("`controllerObjects()` gives the Job all addresses, each once", () => {
  const text = JSON.stringify(jobs);
  assert.equal(text.split('"API_SERVER"').length - 1, 1);
  assert.match(text, /\{"name":"API_SERVER","value":"https:\/\/here:1"\}/);
  assert.match(text, /OBSERVATIONS/, "the others stay");
});

Deno.test("the trial controller has a token for the observation API, and no right but those it needs", () => {
  assert.ok(JSON.stringify(jobs).includes(`"audience":"${OBSERVATION_AUDIENCE}"`));
  const [role] = objects.filter(({ kind }) => kind === "Role");
  assert.deepEqual(role?.rules, [
    {
      apiGroups: ["trainer.kubeflow.org"],
      resources: ["trainjobs"],
      verbs: ["create", "get", "update"],
    },
    { apiGroups: [""], resources: ["configmaps"], verbs: ["get"] },
  ]);
});

Deno.test("the trial controller is a file of under 160 lines", async () => {
  const text = await Deno.readTextFile(new URL("trial_controller.ts", folder));
  assert.ok(text.trimEnd().split("\n").length < 160);
  assert.ok(text.includes('observe(name, "stop"'));
});
