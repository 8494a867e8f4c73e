/** Tests of searches on a whole standalone: many Trials, a stop in words, hostile texts, and the rights of each viewer. */
import assert from "node:assert/strict";
import type { Standalone } from "../../../app/standalone/standalone.ts";
import { JOB_KINDS, TRAINJOB } from "../../../crds/job_kinds.ts";
import { isObject, type JsonObject, textAt } from "../../../platform/base/json.ts";
import { ANNOTATIONS } from "../../../crds/names.ts";
import { KATIB } from "../../../crds/katib_names.ts";
import { KINDS } from "../../../crds/kinds.ts";
import type { TrainJob } from "../../../crds/trainjob.ts";
import type { KubeClient } from "../../../platform/kube/client.ts";
import { createClient } from "../../../platform/kube/connection/connected_client.ts";
import { isForbidden } from "../../../platform/kube/errors.ts";
import { connectionTo, loadKubeconfig } from "../../../platform/kube/connection/kubeconfig.ts";
import type { Kind } from "../../../platform/kube/resource.ts";
import { boundedReads } from "../../../views/details/bounded_reads.ts";
import { EXPERIMENTS as SEARCHES } from "../../../page/trials/katib_objects.ts";
import { KATIB_SEARCHES } from "../../../page/trials/katib_search.ts";
import { listSearches } from "../../../page/trials/search_kinds.ts";
import { HOSTILE_TEXTS } from "../../browser/hostile_corpus.ts";
import { openSession, sendTo } from "../../support/page_client.ts";
import { shellRuntime, trainJobThat, withStandalone } from "../../support/standalone.ts";
import {
  accepted,
  createTrial,
  createTrialsJob,
  installTrials,
  lossAbove,
  pushingPods,
} from "../../support/trials.ts";
import { until } from "../../support/until.ts";

function resource(group: string, version: string, kind: string, namespaced: boolean) {
  const parse = (value: unknown): JsonObject => {
    assert.ok(isObject(value));
    return value;
  };
  const plural = `${kind.toLowerCase()}s`;
  return { group, version, kind, plural, namespaced, parse } satisfies Kind<JsonObject>;
}

const DEFINITION = resource("apiextensions.k8s.io", "v1", "CustomResourceDefinition", false);
const EXPERIMENT = resource(KATIB.group, KATIB.version, "Experiment", true);

const { group, version: name } = EXPERIMENT;
/** A definition without validation, as Katib's. */
const EXPERIMENTS = {
  metadata: { name: `experiments.${group}` },
  spec: {
    group,
    names: { kind: "Experiment", plural: "experiments", singular: "experiment" },
    scope: "Namespaced",
    versions: [{
      name,
      served: true,
      storage: true,
      schema: {
        openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
      },
      subresources: { status: {} },
    }],
  },
};

const labelled = (experiment: string) => ({ [KATIB.experimentLabel]: experiment });
const json = ({ text }: { text: string }) => JSON.parse(text);
const pathOf = (search: string) => `/searches/${SEARCHES}/default/${search}`;

/** A client with a service account's rights, which are these alone. */
async function viewer(
  { client, server, kubeconfig }: Pick<Standalone, "client" | "server" | "kubeconfig">,
  account: string,
  rules: readonly { apiGroups: string[]; resources: string[]; verbs: string[] }[],
) {
  const metadata = { name: account, namespace: "default" };
  await client.create(KINDS.serviceAccount, { apiVersion: "v1", kind: "ServiceAccount", metadata });
  const rbac = (kind: string) => resource("rbac.authorization.k8s.io", "v1", kind, true);
  await client.create(rbac("Role"), { metadata, rules });
  await client.create(rbac("RoleBinding"), {
    metadata,
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: account },
    subjects: [{ kind: "ServiceAccount", name: account, namespace: "default" }],
  });
  // Without an audience it is for the API server.
  const answer = await client.createSubresource(KINDS.serviceAccount, metadata, "token", {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: { expirationSeconds: 3600 },
  });
  const token = textAt(answer, "status", "token") ?? "";
  const caPem = atob(loadKubeconfig(kubeconfig).cluster.caData ?? "");
  return createClient({ connection: connectionTo({ server, caPem, token }) });
}

const HEADLINE = "node-0 exited 1: ModuleNotFoundError: No module named 'tochr'";

/** Makes Trials that are over, so many at a time. */
async function finishedTrials(client: KubeClient, experiment: string, count: number) {
  for (let first = 0; first < count; first += 50) {
    await Promise.all(Array.from({ length: Math.min(50, count - first) }, async (_, index) => {
      const number = first + index;
      const trial = await createTrial(client, `${experiment}-${number}`, "idle", {
        labels: labelled(experiment),
        spec: {
          parameterAssignments: [
            { name: "lr", value: String(0.0001 * (number + 1)) },
            { name: "optimizer", value: HOSTILE_TEXTS[number % HOSTILE_TEXTS.length] },
          ],
          earlyStoppingRules: [lossAbove("2.5", 4)],
        },
      });
      const type = number % 3 === 0 ? "EarlyStopped" : "Succeeded";
      const loss = String(1 + (number * 37 % count) / count);
      const status = {
        startTime: "2026-01-31T12:00:00Z",
        completionTime: new Date(Date.UTC(2026, 0, 31, 13) + number * 1000).toISOString(),
        conditions: [{ type, status: "True", reason: "R", message: HOSTILE_TEXTS[0] }],
        observation: { metrics: [{ name: "loss", min: loss, max: loss, latest: loss }] },
      };
      const key = { namespace: "default", name: trial.metadata.name ?? "" };
      const patch = { type: "merge" as const, body: { status } };
      await client.patch(KINDS.trial, key, patch, { subresource: "status" });
    }));
  }
}

Deno.test("searches are read with the rights of each viewer, with what stopped what, and in little", async (t) => {
  await withStandalone(async (standalone) => {
    const { client, page } = standalone;
    assert.ok(page !== undefined);
    const session = await openSession(page.newAddress());

    await t.step("without Katib's definitions there are none, and it is said why", async () => {
      const list = json(await session.get("/searches"));
      assert.deepEqual(list.searches, []);
      assert.ok(list.absent.includes("experiments.kubeflow.org"), JSON.stringify(list));
      assert.equal((await session.get(pathOf("none"))).status, 404);
      assert.equal((await session.get("/searches/others.example.org/default/x")).status, 404);
      assert.equal((await session.get("/searches?namespace=NO")).status, 400);
      assert.equal((await session.get(`${pathOf("none")}?direction=up`)).status, 400);
    });

    await installTrials(client);
    await client.create(DEFINITION, EXPERIMENTS);
    await client.create(KINDS.clusterTrainingRuntime, shellRuntime("idle", "sleep 60"));
    const crash = `python3 -c "import tochr"`;
    await client.create(KINDS.clusterTrainingRuntime, shellRuntime("crashing", crash));
    await until("Experiments are served", async () => {
      try {
        return await client.list(EXPERIMENT, { namespace: "default" });
      } catch {
        return undefined;
      }
    });
    await client.create(EXPERIMENT, {
      metadata: { name: "many", namespace: "default" },
      spec: {
        objective: { type: "minimize", objectiveMetricName: "loss" },
        parameters: [
          {
            name: "lr",
            parameterType: "double",
            feasibleSpace: { min: "0.0001", max: "0.1", distribution: "logUniform" },
          },
          {
            name: "optimizer",
            parameterType: "categorical",
            feasibleSpace: { list: HOSTILE_TEXTS },
          },
        ],
        trialTemplate: HOSTILE_TEXTS,
      },
    });

    await t.step(
      "500 Trials of hostile texts are one answer below 1 MiB, and none if nothing changed",
      async () => {
        await finishedTrials(client, "many", 500);
        const answer = await session.get(pathOf("many"));
        assert.equal(answer.status, 200, answer.text);
        const bytes = new TextEncoder().encode(answer.text).length;
        assert.ok(bytes < 1 << 20, `${bytes}`);
        const search = json(answer);
        assert.equal(search.trials.length, 500);
        assert.equal(search.isCut, undefined);
        assert.deepEqual(Object.fromEntries(search.counts.states), {
          EarlyStopped: 167,
          Complete: 333,
        });
        assert.equal(search.best, "many-0");
        const [rule] = search.stops;
        assert.equal(rule.text, "loss above 2.5 at report 4");
        assert.equal(rule.trials.length, 167);
        assert.ok(
          search.trials.some(({ values }: { values: string[] }) => values[1] === "__proto__"),
        );
        const known = String(answer.headers.etag);
        const again = await sendTo(page.url, {
          path: pathOf("many"),
          headers: { Authorization: `Bearer ${session.key}`, "If-None-Match": known },
        });
        assert.deepEqual([again.status, again.text], [304, ""]);
      },
    );

    await t.step("a rule that stops a Trial is said with the report that met it", async () => {
      const trial = await createTrial(client, "live-1", "idle", {
        labels: labelled("live"),
        spec: { earlyStoppingRules: [lossAbove("2.5", 2)] },
      });
      await createTrialsJob(client, trial);
      const [pod] = await pushingPods(standalone, "live-1", 1);
      assert.ok(pod !== undefined);
      await accepted(pod.push({ loss: "3" }));
      await accepted(pod.push({ loss: "2.75" }));
      const search = await until("the stop is said", async () => {
        const it = json(await session.get(pathOf("live")));
        return it.trials?.[0]?.stop?.text === undefined ? undefined : it;
      }, { timeoutMs: 60_000 });
      assert.deepEqual(search.trials[0].stop, {
        by: "rules",
        text: "loss 2.75 is greater than 2.5, at report 2",
        rules: ["loss above 2.5 at report 2"],
      });
      assert.equal(search.trials[0].job.kind, TRAINJOB.id);
      assert.equal(search.state, "Complete");
    });

    await t.step("a Trial whose job failed says why, as its job does", async () => {
      const trial = await createTrial(client, "crashed-1", "crashing", {
        labels: labelled("crashed"),
      });
      await createTrialsJob(client, trial);
      const isFailed = ({ status }: TrainJob) => status?.state === "Failed";
      await trainJobThat(client, "crashed-1", "has failed", isFailed);
      const message =
        "Trial has failed. Job message: jobset failed due to one or more job failures";
      const failed = { type: "Failed", status: "True", reason: "TrialFailed", message };
      const body = { status: { conditions: [failed] } };
      const key = { namespace: "default", name: "crashed-1" };
      await client.patch(KINDS.trial, key, { type: "merge", body }, { subresource: "status" });
      const { trials: [shown] } = json(await session.get(pathOf("crashed")));
      assert.deepEqual([shown.state, shown.message, shown.job.kind], [
        "Failed",
        HEADLINE,
        TRAINJOB.id,
      ]);
    });

    await t.step("jobs that no more than a label puts together are a search", async () => {
      for (const rate of ["0.1", "0.2"]) {
        await client.create(
          KINDS.trainJob,
          KINDS.trainJob.parse({
            apiVersion: TRAINJOB.apiVersion,
            kind: TRAINJOB.kind,
            metadata: {
              name: `rate-${rate.slice(2)}`,
              namespace: "default",
              labels: labelled("rates"),
              annotations: { [ANNOTATIONS.objective]: "maximize accuracy" },
            },
            spec: {
              suspend: true,
              runtimeRef: { name: "idle" },
              trainer: { env: [{ name: "RATE", value: rate }, { name: "EPOCHS", value: "3" }] },
            },
          }),
        );
      }
      const search = json(await session.get(pathOf("rates")));
      assert.deepEqual(search.parameters.map(({ name }: { name: string }) => name), ["RATE"]);
      assert.deepEqual(search.trials.map(({ values }: { values: string[] }) => values), [
        ["0.1"],
        ["0.2"],
      ]);
      const { searches, denied } = json(await session.get("/searches"));
      const names = searches.map(({ name, counts }: { name: string; counts: { total: number } }) =>
        `${name} ${counts.total}`
      );
      assert.deepEqual(names.sort(), ["crashed 1", "live 1", "many 0", "rates 2"]);
      const rowOf = (name: string) => searches.find((it: { name: string }) => it.name === name);
      const { state, counts, objective, best } = rowOf("live");
      assert.deepEqual({ state, counts, objective, best }, {
        state: "Complete",
        counts: { total: 1, states: [["EarlyStopped", 1]] },
        objective: { metric: "loss", direction: "minimize", strategy: "min" },
        best: { trial: "live-1", value: "2.75" },
      });
      assert.equal(rowOf("rates").state, "Running");
      assert.deepEqual(rowOf("rates").objective, {
        metric: "accuracy",
        direction: "maximize",
        strategy: "latest",
      });
      assert.deepEqual(denied, []);
    });

    await t.step("a viewer sees no more than that viewer may", async () => {
      const list = (resource: string) => ({
        apiGroups: [KATIB.group],
        resources: [resource],
        verbs: ["get", "list"],
      });
      const none = await viewer(standalone, "nobody", []);
      const experiments = await viewer(standalone, "planner", [list("experiments")]);
      const trials = await viewer(standalone, "trier", [list("trials")]);
      using open = new DisposableStack();
      for (const it of [none, experiments, trials]) open.defer(() => it.close());
      const reader = (it: KubeClient) => ({
        ...boundedReads(it, new AbortController().signal),
        kinds: JOB_KINDS,
        viewer: "somebody else",
      });
      const search = { namespace: "default", name: "many" };
      await assert.rejects(KATIB_SEARCHES.read(reader(none), search), isForbidden);
      await assert.rejects(
        KATIB_SEARCHES.read(reader(none), { namespace: "default", name: "never" }),
        isForbidden,
      );
      const nothing = await listSearches(reader(none), []);
      assert.deepEqual(nothing.searches, []);
      assert.ok(nothing.denied.some(({ kind }) => kind === "experiments.kubeflow.org"));
      const planned = await KATIB_SEARCHES.read(reader(experiments), search);
      assert.deepEqual(planned?.trials, []);
      assert.ok(planned?.denied?.includes("trials.kubeflow.org"));
      const { searches: rows, denied } = await listSearches(reader(experiments), ["default"]);
      assert.deepEqual(rows.map(({ name }) => name), ["many"]);
      assert.ok(
        denied.some(({ kind, namespace }) =>
          kind === "trials.kubeflow.org" && namespace === "default"
        ),
      );
      const tried = await KATIB_SEARCHES.read(reader(trials), search);
      assert.equal(tried?.trials.length, 500);
      assert.equal(tried?.objective?.metric, "loss");
      // Why jobs were stopped is not for who may not get them, though others have asked for it before.
      const live = await KATIB_SEARCHES.read(reader(trials), {
        namespace: "default",
        name: "live",
      });
      assert.deepEqual(live?.trials[0]?.stop, {
        by: "rules",
        rules: ["loss above 2.5 at report 2"],
      });
      const crashed = await KATIB_SEARCHES.read(reader(trials), { ...search, name: "crashed" });
      assert.match(crashed?.trials[0]?.message ?? "", /^Trial has failed/);
    });
  }, { uiPort: 0 });
});
