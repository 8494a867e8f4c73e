/** Test of a made-up kind of job beside TrainJobs, from push to early stop, only by its descriptor. */
import assert from "node:assert/strict";
import { z } from "zod";
import { managerRbac } from "../../../app/manager/manager_roles.ts";
import { clusterRulesOf } from "../../../app/manager/rights.ts";
import { ownershipPolicy } from "../../../deploy/ownership_policy.ts";
import { userRoles } from "../../../deploy/roles.ts";
import { DEFAULTS } from "../../../deploy/installation_settings.ts";
import { type AnyJob, type JobKind, statusPath } from "../../../crds/job_kind.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { endOf, progressOf } from "../../../crds/job_state.ts";
import { KATIB } from "../../../crds/katib_names.ts";
import { KINDS } from "../../../crds/kinds.ts";
import type { Pod } from "../../../platform/kube/kubernetes.ts";
import { ANNOTATIONS, LABELS, MANAGER, PUSH_AUDIENCE, STATUS_ENV } from "../../../crds/names.ts";
import type { KubeClient } from "../../../platform/kube/client.ts";
import { openEvents } from "../../support/event_client.ts";
import { observer } from "../../support/observer.ts";
import { progress, requestToken } from "../../support/standalone.ts";
import { eventsAbout, installTrials, lossAbove, trialThat } from "../../support/trials.ts";
import { until } from "../../support/until.ts";
import { leaderAmong, pusher, type Replica, withReplicas } from "../manager/replicas.ts";
import {
  controlledBy,
  createPod,
  createRehearsal,
  installRehearsals,
  OPERATOR,
  REHEARSAL,
  setConditions,
  WITH_REHEARSALS,
} from "./rehearsal.ts";

const answerSchema = z.looseObject({ control: z.looseObject({ stop: z.boolean() }).optional() });
const STOPPING = JSON.stringify({
  objective: { name: "loss", type: "minimize" },
  rules: [{ name: "loss", value: "0.5", comparison: "greater", startStep: 2 }],
});

/** The rights of a manager that knows rehearsals. */
async function allowRehearsals(client: KubeClient): Promise<void> {
  const subject = {
    namespace: MANAGER.namespace,
    serviceAccount: MANAGER.name,
    name: "rehearsals",
  };
  for (const { kind, ...object } of managerRbac(subject, { kinds: WITH_REHEARSALS })) {
    const namespace = object.metadata.namespace;
    const scope = namespace === undefined ? "" : `namespaces/${namespace}/`;
    const path = `/apis/rbac.authorization.k8s.io/v1/${scope}${kind.toLowerCase()}s`;
    await client.read(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ kind, ...object }),
    });
  }
}

function tokenOf(client: KubeClient, { metadata }: Pod): Promise<string> {
  const pod = { name: metadata?.name ?? "", uid: metadata?.uid ?? "" };
  const account = { namespace: "default", name: "default" };
  return requestToken(client, account, { audience: PUSH_AUDIENCE, pod });
}

/** Asks the status path of a job at a replica. */
async function ask(
  { manager, status }: Replica,
  job: { readonly kind?: JobKind; readonly name: string },
  token: string,
  body?: unknown,
): Promise<{ status: number; retryAfter: string | null; body: unknown }> {
  using http = Deno.createHttpClient({ caCerts: [manager.caBundle()] });
  const answer = await fetch(status + statusPath(job.kind ?? REHEARSAL, "default", job.name), {
    method: body === undefined ? "GET" : "POST",
    client: http,
    headers: { authorization: `Bearer ${token}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(10_000),
  });
  const { status: code, headers } = answer;
  return { status: code, retryAfter: headers.get("retry-after"), body: await answer.json() };
}

const get = (client: KubeClient, name: string): Promise<AnyJob> =>
  client.get(REHEARSAL, { namespace: "default", name });

const shown = (client: KubeClient, name: string, percentage: number) =>
  until(`rehearsal ${name} shows ${percentage}`, async () => {
    return progressOf(REHEARSAL, await get(client, name))?.progressPercentage === percentage;
  });

/** Conditions as `Type=Status/Reason`. */
function conditionsOf({ status }: AnyJob): string[] {
  return (status?.conditions ?? []).map(({ type, status, reason }) =>
    `${type}=${status}/${reason}`
  );
}

Deno.test("a made-up kind of job is served like a TrainJob, by nothing but its descriptor", async (t) => {
  await withReplicas(async ({ plane, start }) => {
    const { client } = plane;
    await installRehearsals(client);
    await installTrials(client);
    await allowRehearsals(client);
    const options = { kinds: WITH_REHEARSALS, flags: { observationSink: "memory" } };
    const replicas = [await start("a", options), await start("b", options)];
    const { leader, followers: [follower] } = await leaderAmong(replicas);
    assert.ok(follower);
    const trainJob = await pusher(plane, "show");
    const show = await createRehearsal(client, "show");
    const pod = await createPod(client, { name: "show-0", job: "show", owner: controlledBy(show) });
    const token = await tokenOf(client, pod);

    await t.step("the webhook injects its own path and CA into its pods", () => {
      const [container] = pod.spec?.containers ?? [];
      const url = container?.env?.find(({ name }) => name === STATUS_ENV.kep.url)?.value;
      assert.match(
        url ?? "",
        /\/apis\/example\.com\/v1\/namespaces\/default\/rehearsals\/show\/status$/,
      );
      const [source] = pod.spec?.volumes?.flatMap(({ projected }) => projected?.sources ?? [])
        .flatMap(({ configMap }) => configMap ?? []) ?? [];
      assert.deepEqual([source?.name, source?.optional], ["show-trust", true]);
    });

    await t.step(
      "pushes reach its annotation, at the owner and through another replica",
      async () => {
        assert.equal((await ask(leader, { name: "show" }, token, progress(10))).status, 200);
        await shown(client, "show", 10);
        assert.equal((await ask(follower, { name: "show" }, token, progress(20))).status, 200);
        await shown(client, "show", 20);
        assert.equal(await follower.metric("forwarded_pushes_total", '{result="accepted"}'), 1);
        assert.equal(await trainJob.shown(), undefined, "a TrainJob of that name is another job");
        assert.equal((await trainJob.push(follower, 5)).status, 200);
        await until("the TrainJob shows 5", async () => await trainJob.shown() === 5);
        const { annotations } = (await get(client, "show")).metadata;
        assert.match(annotations?.["example.com/progress"] ?? "", /^\{"progressPercentage":20,/);
      },
    );

    await t.step("it is read, at the owner and through another replica", async () => {
      for (const replica of replicas) {
        const { status, body } = await ask(replica, { name: "show" }, token);
        assert.equal(status, 200);
        assert.partialDeepStrictEqual(body, { trainerStatus: { progressPercentage: 20 } });
      }
    });

    await t.step("pods that are not its own are refused", async () => {
      const other = await createRehearsal(client, "other");
      const owner = controlledBy(show);
      const foreign: Record<string, Parameters<typeof createPod>[1]["owner"]> = {
        "labels-alone": undefined,
        "an-owner-that-controls-nothing": { ...owner, controller: false },
        "another-uid": { ...owner, uid: crypto.randomUUID() },
        "another-group": { ...owner, apiVersion: "evil.example/v1" },
        "another-kind": { ...owner, kind: "TrainJob" },
        "another-job": controlledBy(other),
      };
      for (const [name, owner] of Object.entries(foreign)) {
        const stranger = await createPod(client, { name: `show-${name}`, job: "show", owner });
        const { status } = await ask(
          follower,
          { name: "show" },
          await tokenOf(client, stranger),
          progress(99),
        );
        assert.equal(status, 403, name);
      }
      const misnamed = await createPod(client, { name: "play-0", job: "show", owner });
      const its = await tokenOf(client, misnamed);
      assert.equal((await ask(leader, { name: "show" }, its, progress(99))).status, 403);
      // Two jobs of one name: a pod of one speaks for no job of the other kind.
      const ofTrainJob = { kind: TRAINJOB, name: "show" };
      assert.equal((await ask(leader, ofTrainJob, token, progress(99))).status, 403);
      assert.equal((await ask(leader, { name: "show" }, trainJob.token, progress(99))).status, 403);
      assert.equal(progressOf(REHEARSAL, await get(client, "show"))?.progressPercentage, 20);
    });

    await t.step("a pod belongs to it by its second chain, too", async () => {
      const job = await client.create(
        KINDS.job,
        KINDS.job.parse({
          apiVersion: "batch/v1",
          kind: "Job",
          metadata: {
            name: "show-batch",
            namespace: "default",
            ownerReferences: [controlledBy(show)],
          },
          spec: {
            managedBy: "example.com/nobody",
            template: {
              spec: { restartPolicy: "Never", containers: [{ name: "main", image: "none" }] },
            },
          },
        }),
      );
      const owner = {
        apiVersion: "batch/v1",
        kind: "Job",
        name: "show-batch",
        uid: job.metadata?.uid ?? "",
        controller: true,
      };
      const batch = await createPod(client, { name: "show-batch-0", job: "show", owner });
      const its = await tokenOf(client, batch);
      assert.equal((await ask(follower, { name: "show" }, its, progress(30))).status, 200);
      await shown(client, "show", 30);
    });

    await t.step(
      "its rules stop it by its own conditions, and only its lead pod counts",
      async () => {
        const cut = await createRehearsal(client, "cut", {
          annotations: { [ANNOTATIONS.earlyStopping]: STOPPING },
        });
        const owner = controlledBy(cut);
        const [lead, extra] = await Promise.all([
          createPod(client, { name: "cut-0", job: "cut", owner }).then((it) => tokenOf(client, it)),
          createPod(client, { name: "cut-1", job: "cut", role: "extra", owner })
            .then((it) => tokenOf(client, it)),
        ]);
        const push = async (token: string, step: number, loss: string) => {
          const body = progress(step, { loss });
          const { status, body: answer } = await ask(follower, { name: "cut" }, token, body);
          assert.equal(status, 200);
          return answerSchema.parse(answer).control?.stop ?? false;
        };
        const reader = await observer(client, "critic", REHEARSAL);
        const at = { status: follower.status, caBundle: () => follower.manager.caBundle() };
        for (const loss of ["9", "9", "9"]) assert.equal(await push(extra, 1, loss), false);
        assert.equal(await push(lead, 2, "0.9"), false);
        const running = await reader.read(at, "cut");
        assert.equal(running.status, 200);
        assert.partialDeepStrictEqual(running.body, {
          state: "Running",
          primaryPod: "cut-0",
          metrics: [{ name: "loss", latest: "0.9" }],
        });
        assert.equal(await push(lead, 3, "0.8"), true);
        const stopped = await until("the rehearsal is cut", async () => {
          const job = await get(client, "cut");
          return endOf(REHEARSAL, job) === undefined ? undefined : job;
        });
        assert.deepEqual(conditionsOf(stopped), [
          "Playing=False/RehearsalCut",
          "Cut=True/RulesMet",
          "Finished=True/RehearsalCut",
        ]);
        await until("the observation says so", async () => {
          const { body } = await reader.read(at, "cut");
          return z.looseObject({ state: z.string() }).parse(body).state === "EarlyStopped";
        });
        await eventsAbout(client, { kind: "Rehearsal", name: "cut" }, "EarlyStopped");
      },
    );

    await t.step("a Katib Trial over it is stopped with it", async () => {
      const trial = await client.create(
        KINDS.trial,
        KINDS.trial.parse({
          apiVersion: KATIB.apiVersion,
          kind: KATIB.trialKind,
          metadata: { name: "audition", namespace: "default" },
          spec: {
            objective: { type: "minimize", objectiveMetricName: "loss" },
            runSpec: {
              apiVersion: REHEARSAL.apiVersion,
              kind: REHEARSAL.kind,
              metadata: { name: "audition", namespace: "default" },
            },
            metricsCollector: { collector: { kind: "Push" } },
            earlyStoppingRules: [lossAbove("0.5")],
          },
        }),
      );
      const { name = "", uid = "" } = trial.metadata;
      const owner = { apiVersion: KATIB.apiVersion, kind: KATIB.trialKind, name, uid };
      const job = await createRehearsal(client, name, {
        ownerReferences: [{ ...owner, controller: true }],
      });
      const lead = await createPod(client, {
        name: "audition-0",
        job: name,
        owner: controlledBy(job),
      });
      const body = progress(1, { loss: "0.9" });
      const token = await tokenOf(client, lead);
      await until("the push is taken", async () => {
        const { status, body: answer } = await ask(leader, { name }, token, body);
        return status === 200 && answerSchema.parse(answer).control?.stop;
      });
      await trialThat(
        client,
        name,
        "is stopped early",
        ({ status }) =>
          status?.conditions?.some((it) => it.type === "EarlyStopped" && it.status === "True") ??
            false,
      );
      await until("its job ends", async () => endOf(REHEARSAL, await get(client, name)));
    });

    await t.step("a stream ends when its conditions say that it has ended", async () => {
      const url = follower.status + statusPath(REHEARSAL, "default", "show");
      await using events = await openEvents(`${url}?watch=true`, {
        token,
        ca: follower.manager.caBundle(),
      });
      assert.equal(events.status, 200);
      await setConditions(client, "show", { Finished: "True" });
      const end = await until("the stream ends", async () => {
        const heard = await events.next();
        return "event" in heard && heard.event === "end" ? heard : undefined;
      });
      assert.deepEqual(end.data, { reason: "Complete" });
    });

    await t.step("the next owner goes on with what its object shows", async () => {
      await leader.manager.stop();
      await until("the other replica leads", () => follower.manager.leading());
      const { status, body } = await ask(follower, { name: "show" }, token);
      assert.equal(status, 200);
      assert.partialDeepStrictEqual(body, { trainerStatus: { progressPercentage: 30 } });
      await until(
        "a push is taken",
        async () => (await ask(follower, { name: "show" }, token, progress(40))).status === 200,
      );
      await shown(client, "show", 40);
    });
  });
});

Deno.test("roles and the ownership policy follow from the table of job kinds", () => {
  const text = JSON.stringify(ownershipPolicy(DEFAULTS, WITH_REHEARSALS));
  assert.ok(text.includes("r.kind in ['Job', 'JobSet', 'TrainJob', 'Rehearsal']"));
  assert.ok(text.includes(
    `k in ['${LABELS.trainJobName}', 'example.com/job-kind', '${LABELS.trial}'] || ` +
      "(k == 'example.com/job-name' && 'example.com/job-kind' in variables.labels)",
  ));
  assert.ok(text.includes(
    "!(r.kind == 'Rehearsal' && r.apiVersion.startsWith('example.com/') && " +
      `variables.user in ['${OPERATOR}'])`,
  ));
  const [edit, view] = userRoles(DEFAULTS, WITH_REHEARSALS);
  for (const role of [edit, view]) assert.match(JSON.stringify(role), /"rehearsals"/);
  const rbac = managerRbac({ namespace: "n", serviceAccount: "s" }, { kinds: WITH_REHEARSALS });
  assert.partialDeepStrictEqual(rbac[0]?.rules, [
    { apiGroups: ["trainer.kubeflow.org"] },
    { apiGroups: ["trainer.kubeflow.org"] },
    { apiGroups: ["trainer.kubeflow.org"] },
    { apiGroups: ["example.com"], resources: ["rehearsals"], verbs: ["get", "list", "watch"] },
    { apiGroups: ["example.com"], resources: ["rehearsals/status"], verbs: ["patch"] },
  ]);
  assert.partialDeepStrictEqual(clusterRulesOf("progress", WITH_REHEARSALS)[0], {
    apiGroups: ["example.com"],
    resources: ["rehearsals"],
    verbs: ["patch"],
  });
});
