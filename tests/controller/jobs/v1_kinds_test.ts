/** Tests of the choice of v1 kinds: by annotation, by name, for definitions that come, change and go. */
import assert from "node:assert/strict";
import { createV1Kinds, POLL_MS, type V1Kinds } from "../../../controller/jobs/v1_kinds.ts";
import type { V1KindName } from "../../../crds/v1/kinds.ts";
import { KubeError } from "../../../platform/kube/errors.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { withLogs } from "../../support/logged.ts";
import { until } from "../../support/until.ts";
import { answeringClient } from "../../support/answering_client.ts";

const RUN_BY = "trainer.kubeflow.org/run-by";

interface Crd {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly generation?: number;
  /** Versions in which it is served; default v1. */
  readonly versions?: readonly string[];
  /** Whether it keeps progress. Default false. */
  readonly keeps?: boolean;
}

interface Cluster {
  /** The definitions by plural. */
  readonly crds: Map<string, Crd>;
  /** The status with which definitions are refused. */
  refusal?: number;
  /** The plural of the kind whose jobs may not be read. */
  unreadable?: string;
  /** The status with which discovery is refused. */
  outage?: number;
  readonly requests: string[];
}

const OURS: Crd = { annotations: { [RUN_BY]: "milepost" }, keeps: true };

const status = (code: number) =>
  Response.json({ kind: "Status", code, message: `code ${code}` }, { status: code });

function crdOf(name: string, { annotations, generation = 1, versions = ["v1"], keeps }: Crd) {
  const properties = { status: { properties: keeps ? { trainerStatus: {} } : {} } };
  const schema = { openAPIV3Schema: { properties } };
  return {
    metadata: { name, generation, annotations },
    spec: { versions: versions.map((version) => ({ name: version, schema })) },
  };
}

/** Answers as an API server with those definitions does. */
function answer({ crds, refusal, outage, unreadable }: Cluster, path: string): Response {
  const jobs = /^\/apis\/kubeflow\.org\/v1\/(\w+)$/.exec(path);
  if (jobs !== null) {
    return jobs[1] === unreadable
      ? status(403)
      : Response.json({ metadata: { resourceVersion: "1" }, items: [] });
  }
  const crd = /customresourcedefinitions\/((\w+)\.kubeflow\.org)$/.exec(path);
  if (crd !== null) {
    if (refusal !== undefined) return status(refusal);
    const found = crds.get(crd[2] ?? "");
    return found ? Response.json(crdOf(crd[1] ?? "", found)) : status(404);
  }
  if (outage !== undefined) return status(outage);
  const served = [...crds].flatMap(([plural, { versions = ["v1"] }]) =>
    versions.map((version) => ({ plural, version }))
  );
  const [, version] = /^\/apis\/kubeflow\.org(?:\/(\w+))?$/.exec(path) ?? [];
  const there = served.filter((it) => version === undefined || it.version === version);
  if (there.length === 0) return status(404);
  return version === undefined
    ? Response.json({ versions: there })
    : Response.json({ resources: there.map(({ plural }) => ({ name: plural })) });
}

/** A client of that cluster. */
function clientOf(cluster: Cluster): Parameters<typeof createV1Kinds>[0]["client"] {
  const ask = (path: string) => {
    cluster.requests.push(path);
    return answer(cluster, path);
  };
  async function read(path: string): Promise<unknown> {
    const response = ask(path);
    if (response.ok) return await response.json();
    const { status: code } = response;
    throw new KubeError(`code ${code}`, { code, reason: code === 404 ? "NotFound" : "Forbidden" });
  }
  return {
    read: answeringClient(({ path }) => ask(path)).read,
    get: async ({ group, version, plural, parse }, { name }) =>
      parse(await read(`/apis/${group}/${version}/${plural}/${name}`)),
    async list({ group, version, plural }) {
      await read(`/apis/${group}/${version}/${plural}`);
      return { items: [], resourceVersion: "1", problems: [] };
    },
  };
}

interface World {
  readonly cluster: Cluster;
  readonly kinds: V1Kinds;
  readonly changes: string[];
  /** Waits until the definitions have been read once more. */
  look(): Promise<void>;
}

async function withWorld(
  crds: Readonly<Record<string, Crd>>,
  test: (world: World) => Promise<void>,
  { named = [], ...faults }:
    & { named?: V1KindName[] }
    & Pick<Cluster, "refusal" | "outage" | "unreadable"> = {},
): Promise<void> {
  const cluster: Cluster = { crds: new Map(Object.entries(crds)), requests: [], ...faults };
  const clock = new FakeClock();
  const client = clientOf(cluster);
  const kinds = createV1Kinds({ client, clock, named, random: () => 1 });
  const changes: string[] = [];
  kinds.onChange(() => changes.push(runs(kinds).join()));
  const stop = new AbortController();
  const running = kinds.run(stop.signal);
  const asleep = () => until("it waits", () => clock.sleeping === 1);
  await asleep();
  const look = async () => {
    await clock.advance(POLL_MS);
    await asleep();
  };
  try {
    await test({ cluster, kinds, changes, look });
  } finally {
    stop.abort();
    await running;
  }
}

const ALL: readonly V1KindName[] = [
  "TFJob",
  "PyTorchJob",
  "XGBoostJob",
  "MXJob",
  "MPIJob",
  "PaddleJob",
  "JAXJob",
];
const runs = (kinds: V1Kinds) => ALL.filter((kind) => kinds.runs(kind));

const cases: Record<
  string,
  { crds: Record<string, Crd>; named?: V1KindName[]; refusal?: number; want: string[] }
> = {
  "none in a cluster without definitions": { crds: {}, want: [] },
  "those whose definition carries the annotation": {
    crds: { pytorchjobs: OURS, tfjobs: OURS, xgboostjobs: {} },
    want: ["TFJob", "PyTorchJob"],
  },
  "none that another runs": {
    crds: { pytorchjobs: { annotations: { [RUN_BY]: "training-operator" } } },
    want: [],
  },
  "those that a setting names": {
    crds: { pytorchjobs: {} },
    named: ["PyTorchJob"],
    want: ["PyTorchJob"],
  },
  "none that a setting names and nothing serves": { crds: {}, named: ["PyTorchJob"], want: [] },
  "those that a setting names where definitions may not be read": {
    crds: { pytorchjobs: OURS, tfjobs: OURS },
    named: ["TFJob"],
    refusal: 403,
    want: ["TFJob"],
  },
  "no MPIJob of another version": {
    crds: { mpijobs: { ...OURS, versions: ["v2beta1"] }, tfjobs: OURS },
    named: ["MPIJob"],
    want: ["TFJob"],
  },
  "an MPIJob of both versions": {
    crds: { mpijobs: { ...OURS, versions: ["v1", "v2beta1"] } },
    want: ["MPIJob"],
  },
};

for (const [sentence, { crds, want, ...options }] of Object.entries(cases)) {
  Deno.test(`createV1Kinds() runs ${sentence}`, () =>
    withWorld(crds, ({ kinds }) => {
      assert.deepEqual(runs(kinds), want);
      assert.equal(kinds.known, true);
      return Promise.resolve();
    }, options));
}

Deno.test("createV1Kinds() runs a kind whose definition appears, and stops when the annotation goes", () =>
  withWorld({}, async ({ cluster, kinds, changes, look }) => {
    assert.equal(kinds.known, true);
    cluster.crds.set("pytorchjobs", OURS);
    await look();
    assert.equal(kinds.runs("PyTorchJob"), true);
    assert.equal(kinds.of("PyTorchJob").on, true);
    cluster.crds.set("pytorchjobs", { ...OURS, annotations: {} });
    await look();
    assert.equal(kinds.of("PyTorchJob").on, false);
    cluster.crds.set("pytorchjobs", OURS);
    await look();
    cluster.crds.delete("pytorchjobs");
    await look();
    assert.deepEqual(changes, ["PyTorchJob", "", "PyTorchJob", ""]);
  }));

Deno.test("createV1Kinds() does not run what may not be read, says it once, and runs it when it may", () =>
  withLogs(
    (records) =>
      withWorld({ tfjobs: OURS, jaxjobs: OURS }, async ({ cluster, kinds, look }) => {
        assert.deepEqual(runs(kinds), ["JAXJob"]);
        assert.equal(kinds.known, true);
        await look();
        assert.deepEqual(
          records.map(({ properties, rawMessage }) => [properties.kind, rawMessage]),
          [
            ["TFJob", "this kind may not be read, and is not run until the role allows it"],
          ],
        );
        delete cluster.unreadable;
        await look();
        assert.deepEqual(runs(kinds), ["TFJob", "JAXJob"]);
      }, { unreadable: "tfjobs" }),
    "warning",
  ));

Deno.test("createV1Kinds() keeps what it knows while the API server does not answer, or may not be asked", () =>
  withWorld({ tfjobs: OURS }, async ({ cluster, kinds, changes, look }) => {
    for (const fault of ["outage", "refusal"] as const) {
      for (const code of [503, 403]) {
        cluster[fault] = code;
        await look();
        assert.deepEqual([runs(kinds), kinds.keepsProgress("TFJob")], [["TFJob"], true]);
        delete cluster[fault];
      }
    }
    assert.deepEqual(changes, ["TFJob"]);
  }));

Deno.test("createV1Kinds() does not go by what a definition said that was gone meanwhile", () =>
  withWorld({ tfjobs: OURS }, async ({ cluster, kinds, look }) => {
    for (const code of [404, 403]) {
      cluster.refusal = code;
      await look();
      assert.deepEqual(runs(kinds), []);
    }
  }));

Deno.test("createV1Kinds() knows nothing before it has had an answer, and looks again soon", () =>
  withWorld({ tfjobs: OURS }, async ({ cluster, kinds, look }) => {
    assert.equal(kinds.known, false);
    delete cluster.outage;
    await look();
    assert.deepEqual(runs(kinds), ["TFJob"]);
  }, { outage: 500 }));

Deno.test("createV1Kinds() reads a definition again only when it has changed", () =>
  withWorld({ tfjobs: { ...OURS, keeps: false } }, async ({ cluster, kinds, changes, look }) => {
    const reads = () => cluster.requests.filter((path) => path.endsWith("tfjobs.kubeflow.org"));
    assert.equal(kinds.keepsProgress("TFJob"), false);
    // The metadata, and once the whole.
    assert.equal(reads().length, 2);
    await look();
    assert.equal(reads().length, 3);
    cluster.crds.set("tfjobs", { ...OURS, generation: 2 });
    await look();
    assert.equal(reads().length, 5);
    assert.equal(kinds.keepsProgress("TFJob"), true);
    assert.deepEqual(changes, ["TFJob", "TFJob"]);
  }));

Deno.test("createV1Kinds() asks a cluster without the kinds one question", () =>
  withWorld({}, ({ cluster }) => {
    assert.deepEqual(cluster.requests, ["/apis/kubeflow.org"]);
    return Promise.resolve();
  }));

Deno.test("createV1Kinds() says each thing once", () =>
  withLogs(async (records) => {
    const said = () => records.map(({ properties, rawMessage }) => [properties.kind, rawMessage]);
    const crds = { mpijobs: { versions: ["v2beta1"] }, tfjobs: { ...OURS, keeps: false } };
    await withWorld(crds, async ({ cluster, look }) => {
      await look();
      cluster.crds.set("tfjobs", {});
      await look();
    });
    assert.deepEqual(said(), [
      ["MPIJob", "the cluster serves this kind only in a version that Milepost does not run"],
      ["TFJob", "this kind is run"],
      [
        "TFJob",
        "the definition of this kind drops status.trainerStatus, so that an annotation shows the progress; " +
        "`milepost crds --v1 --patch` prints what adds the field",
      ],
      ["TFJob", "this kind is no longer run: its definition lost the annotation"],
    ]);
  }, "info"));
