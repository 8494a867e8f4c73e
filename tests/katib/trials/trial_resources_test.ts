/** Tests of trial resources: which of them are followed, and what is said of it. */
import assert from "node:assert/strict";
import { trialResourceKind } from "../../../crds/trial_resource.ts";
import { createTrialResources, findTrialResources } from "../../../katib/trials/trial_resources.ts";
import { answeringClient } from "../../support/answering_client.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { withLogs } from "../../support/logged.ts";
import { until } from "../../support/until.ts";

const RESOURCE = { group: "example.org", version: "v1", kind: "Sweep" };
const KIND = trialResourceKind(RESOURCE, "sweeps");

interface Cluster {
  /** What is served by plural; undefined: the API server does not answer. */
  served: readonly string[] | undefined;
  /** Verbs that the manager may not use. */
  forbidden: readonly string[];
}

function clientOf(cluster: Cluster) {
  return answeringClient(({ path, body = "" }) => {
    if (cluster.served === undefined) {
      return Response.json({ message: "out of order" }, { status: 500 });
    }
    if (path === "/apis/example.org/v1") {
      if (cluster.served.length === 0) return Response.json({}, { status: 404 });
      const resources = cluster.served.flatMap((name) =>
        [name, `${name}/status`].map((it) => ({ name: it, kind: "Sweep" }))
      );
      return Response.json({ resources });
    }
    assert.equal(path, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews");
    const { verb, group, resource } = JSON.parse(body).spec.resourceAttributes;
    assert.deepEqual([group, resource], ["example.org", "sweeps"]);
    const status = { allowed: !cluster.forbidden.includes(verb) };
    return Response.json({ metadata: {}, status });
  });
}

/** Each state of a cluster with what holds and is said in it; `on` undefined: nothing is known. */
const STEPS: Readonly<Record<string, readonly (Cluster & { on: boolean; says: RegExp[] })[]>> = {
  "that is not served until its definition comes": [
    { served: [], forbidden: [], on: false, says: [/not recorded.*does not serve it: install/] },
    { served: [], forbidden: [], on: false, says: [] },
    { served: ["sweeps"], forbidden: [], on: true, says: [/are recorded/] },
    { served: [], forbidden: [], on: false, says: [/not recorded.*does not serve it/] },
  ],
  "with another plural": [
    { served: ["sweepes"], forbidden: [], on: false, says: [/its plural is sweepes.*restart/] },
  ],
  "that may be followed, and not ended": [
    {
      served: ["sweeps"],
      forbidden: ["patch"],
      on: true,
      says: [
        /are recorded/,
        /go on when.*grant me a ClusterRole with the verbs patch on sweeps\.example/,
      ],
    },
  ],
  "that may not be followed": [
    {
      served: ["sweeps"],
      forbidden: ["list", "watch"],
      on: false,
      says: [/not recorded.*with the verbs list, watch on/],
    },
    { served: ["sweeps"], forbidden: [], on: true, says: [/are recorded/] },
  ],
  "whose API server cannot be asked, which ends nothing that works": [
    { served: undefined, forbidden: [], on: false, says: [/not recorded.*cannot be asked: /] },
    { served: ["sweeps"], forbidden: [], on: true, says: [/are recorded/] },
    { served: undefined, forbidden: [], on: true, says: [] },
  ],
};

for (const [sentence, steps] of Object.entries(STEPS)) {
  Deno.test(`createTrialResources() of a kind ${sentence}`, () =>
    withLogs(async (records) => {
      const cluster: Cluster = { served: [], forbidden: [] };
      const clock = new FakeClock();
      const resources = createTrialResources({
        client: clientOf(cluster),
        clock,
        kinds: [KIND],
        account: "me",
        random: () => 1,
      });
      assert.equal(resources.of(KIND).on, undefined);
      const stop = new AbortController();
      let running: Promise<void> | undefined;
      for (const { on, says, ...state } of steps) {
        Object.assign(cluster, state);
        if (running === undefined) running = resources.run(stop.signal);
        else await clock.advance(10_000);
        await until("it waits", () => clock.sleeping === 1);
        assert.equal(resources.of(KIND).on, on);
        const said = records.splice(0).map(({ rawMessage, properties }) =>
          `${rawMessage} ${properties.why ?? ""}`
        );
        assert.equal(said.length, says.length, said.join("\n"));
        says.forEach((it, index) => assert.match(said[index] ?? "", it));
      }
      stop.abort();
      await running;
    }, "info"));
}

Deno.test("findTrialResources() takes the plural that is served, or the usual one", async () => {
  const pluralIn = async (served: Cluster["served"]) => {
    const [kind] = await findTrialResources(clientOf({ served, forbidden: [] }), [RESOURCE]);
    return kind?.plural;
  };
  assert.deepEqual(
    [await pluralIn(["sweepes"]), await pluralIn([]), await pluralIn(undefined)],
    ["sweepes", "sweeps", "sweeps"],
  );
});
