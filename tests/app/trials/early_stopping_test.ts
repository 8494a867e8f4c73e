/** Tests of a trial from its pods' pushes to its end, each with what upstream does wrong beside it. */
import assert from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { ANNOTATIONS, LABELS } from "../../../crds/names.ts";
import type { TrainJob } from "../../../crds/trainjob.ts";
import type { Trial } from "../../../crds/trial.ts";
import type { KubeClient } from "../../../platform/kube/client.ts";
import { isNotFound } from "../../../platform/kube/errors.ts";
import { shellRuntime, trainJob, trainJobThat, withStandalone } from "../../support/standalone.ts";
import {
  accepted,
  createTrial,
  createTrialsJob,
  eventsAbout,
  installTrials,
  lossAbove,
  pushingPods,
  trialThat,
  withInitializer,
} from "../../support/trials.ts";
import { until } from "../../support/until.ts";

const NO_JOBSET = { timeoutMs: 60_000 };

function isTrue(object: TrainJob | Trial, type: string): boolean {
  return object.status?.conditions?.some((it) => it.type === type && it.status === "True") ?? false;
}

const stopped = (client: KubeClient, name: string) =>
  trialThat(client, name, "is stopped early", (it) => isTrue(it, "EarlyStopped"));

function jobSetGone(client: KubeClient, name: string) {
  return until(`JobSet ${name} is gone`, async () => {
    try {
      await client.get(KINDS.jobSet, { namespace: "default", name });
      return undefined;
    } catch (error) {
      if (isNotFound(error)) return true;
      throw error;
    }
  }, NO_JOBSET);
}

/** Ends the pods of a job as a kubelet would. */
async function endPods(client: KubeClient, job: string, phase: "Succeeded" | "Failed") {
  const labelSelector = `${LABELS.trainJobName}=${job}`;
  const { items } = await client.list(KINDS.pod, { namespace: "default", labelSelector });
  for (const { metadata } of items) {
    const key = { namespace: "default", name: metadata?.name ?? "" };
    const body = { status: { phase } };
    await client.patch(KINDS.pod, key, { type: "merge", body }, { subresource: "status" });
  }
}

const LOSS_ABOVE_10 = JSON.stringify({
  objective: { name: "loss", type: "minimize" },
  rules: [{ name: "loss", value: "10", comparison: "greater" }],
});

Deno.test("a trial is recorded from its pods' pushes and stopped early by its rules", async (t) => {
  await withStandalone(async (standalone) => {
    const { client } = standalone;
    await client.create(KINDS.clusterTrainingRuntime, shellRuntime("idle", "sleep 60"));
    await client.create(
      KINDS.clusterTrainingRuntime,
      withInitializer(shellRuntime("idle-initialized", "sleep 60")),
    );
    const begin = async (
      name: string,
      options: Parameters<typeof createTrial>[3] & { pods?: number; runtime?: string } = {},
    ) => {
      const trial = await createTrial(client, name, options.runtime ?? "idle", options);
      await createTrialsJob(client, trial);
      return { trial, pods: await pushingPods(standalone, name, options.pods ?? 1) };
    };

    await t.step(
      "without Katib a plain job runs as usual, and Trials are served when their kind appears",
      async () => {
        await client.create(KINDS.trainJob, trainJob("plain", "idle"));
        const [pod] = await pushingPods(standalone, "plain", 1);
        assert.deepEqual(
          await accepted(pod!.push({ loss: "1" })).then((it) => it.control),
          undefined,
        );
        assert.equal(pod?.labels[LABELS.trial], undefined);
        await installTrials(client);
      },
    );

    await t.step(
      "the last rule is met: control, Trial, TrainJob, JobSet, events; only the primary pod counts",
      async () => {
        const { pods } = await begin("stops", {
          spec: { earlyStoppingRules: [lossAbove("0.5", 3)] },
          job: { trainer: { numNodes: 2 } },
          pods: 2,
        });
        const [primary, worker] = pods;
        assert.ok(primary && worker);
        assert.deepEqual(pods.map((it) => it.labels[LABELS.trial]), ["stops", "stops"]);
        // Upstream every worker's report counts: this one would have met the rule.
        for (const loss of ["9", "9", "9", "9"]) await accepted(worker.push({ loss }));
        for (const loss of ["0.9", "0.8"]) {
          assert.equal((await accepted(primary.push({ loss }))).control, undefined);
        }
        const { control } = await accepted(primary.push({ loss: "0.7" }));
        assert.equal(control?.stop, true);
        assert.equal(control?.reason, "EarlyStopped");
        assert.match(control?.message ?? "", /loss 0.7 is greater than 0.5, at report 3/);
        const trial = await stopped(client, "stops");
        const last = trial.status?.conditions?.at(-1);
        assert.equal(last?.reason, "TrialEarlyStopped");
        assert.deepEqual(trial.status?.observation, {
          metrics: [{ name: "loss", min: "0.7", max: "0.9", latest: "0.7" }],
        });
        assert.ok(trial.status?.completionTime);
        const job = await trainJobThat(
          client,
          "stops",
          "is early stopped",
          (it) => it.status?.state === "EarlyStopped",
        );
        assert.deepEqual(job.status?.conditions?.map(({ type, reason }) => [type, reason]), [
          ["EarlyStopped", "RulesMet"],
          ["Complete", "EarlyStopped"],
        ]);
        await jobSetGone(client, "stops");
        for (const kind of ["Trial", "TrainJob"]) {
          const messages = await eventsAbout(client, { kind, name: "stops" }, "EarlyStopped");
          assert.equal(messages.length, 1);
          assert.match(messages[0] ?? "", /loss 0.7 .* 0.5, at report 3/);
        }
      },
    );

    await t.step(
      "with retainRun false Katib deletes the job at once, and the observation stays",
      async () => {
        const { pods: [pod] } = await begin("unretained", {
          spec: { earlyStoppingRules: [lossAbove("0.5")], retainRun: false },
        });
        await accepted(pod!.push({ loss: "0.6" }));
        await stopped(client, "unretained");
        // As Katib's trial controller does on sight of the condition: the log was not read.
        await client.delete(KINDS.trainJob, { namespace: "default", name: "unretained" });
        const trial = await stopped(client, "unretained");
        assert.deepEqual(trial.status?.observation?.metrics, [
          { name: "loss", min: "0.6", max: "0.6", latest: "0.6" },
        ]);
      },
    );

    await t.step(
      "an objective that is not a number never becomes the best, nor does NaN",
      async () => {
        const { pods: [pod] } = await begin("numbers", {
          spec: { earlyStoppingRules: [lossAbove("0.5", 2)] },
        });
        const { warnings = [] } = await accepted(pod!.push({ loss: "good" }));
        assert.match(warnings.join(), /loss/);
        await accepted(pod!.push({ loss: "0.9" }));
        const { control } = await accepted(pod!.push({ loss: "NaN" }));
        assert.equal(control?.stop, true, "the best is above the rule's value");
        const { status } = await stopped(client, "numbers");
        const metric = status?.observation?.metrics?.[0];
        assert.equal(metric?.min, "0.9");
        assert.ok(Number(metric?.latest) > 1e300, `latest is ${metric?.latest}`);
      },
    );

    await t.step(
      "during the grace the trainer gets control.stop, and its own end ends the trial",
      async () => {
        const { pods: [pod] } = await begin("grace", {
          spec: { earlyStoppingRules: [lossAbove("0.5")] },
          annotations: { "trainer.kubeflow.org/early-stopping-grace": "1h" },
        });
        assert.equal((await accepted(pod!.push({ loss: "0.6" }))).control?.stop, true);
        // Every later answer says so again, and what the trainer still has to say is recorded.
        assert.equal((await accepted(pod!.push({ loss: "0.55" }))).control?.stop, true);
        const before = await client.get(KINDS.trial, { namespace: "default", name: "grace" });
        assert.equal(isTrue(before, "EarlyStopped"), false);
        await endPods(client, "grace", "Succeeded");
        const { status } = await stopped(client, "grace");
        assert.equal(status?.observation?.metrics?.[0]?.latest, "0.55");
        const job = await trainJobThat(client, "grace", "is over", (it) => isTrue(it, "Complete"));
        assert.deepEqual(job.status?.conditions?.map(({ type, reason }) => [type, reason]), [
          ["EarlyStopped", "RulesMet"],
          ["Complete", "EarlyStopped"],
        ]);
      },
    );

    await t.step("a trial that ends before its rules are met is left to Katib", async () => {
      const { pods: [pod] } = await begin("finishes", {
        spec: { earlyStoppingRules: [lossAbove("0.5"), lossAbove("0.7", 100)] },
      });
      await accepted(pod!.push({ loss: "0.6" }));
      await endPods(client, "finishes", "Succeeded");
      const job = await trainJobThat(client, "finishes", "is over", (it) => isTrue(it, "Complete"));
      assert.equal(job.status?.state, "Complete");
      const trial = await client.get(KINDS.trial, { namespace: "default", name: "finishes" });
      assert.equal(trial.status?.conditions, undefined);
    });

    await t.step(
      "a trial whose job has initializers works, and all its pods are the trial's",
      async () => {
        const { pods } = await begin("initialized", {
          runtime: "idle-initialized",
          spec: { earlyStoppingRules: [lossAbove("0.5")] },
          pods: 2,
        });
        assert.deepEqual(pods.map((it) => it.labels[LABELS.trial]), ["initialized", "initialized"]);
        const trainer = pods.find((it) =>
          it.labels["jobset.sigs.k8s.io/replicatedjob-name"] === "node"
        );
        await accepted(trainer!.push({ loss: "0.6" }));
        await stopped(client, "initialized");
      },
    );

    await t.step(
      "a wrong primaryContainerName is reported by an event of the Trial, and in the answer to a push",
      async () => {
        const trial = await createTrial(client, "misnamed", "idle", {
          spec: { primaryContainerName: "pytorch" },
        });
        await createTrialsJob(client, trial);
        const about = { kind: "Trial", name: "misnamed" };
        const [message = ""] = await eventsAbout(client, about, "PrimaryContainerMissing");
        assert.match(message, /no container "pytorch".*node/);
        const [pod] = await pushingPods(standalone, "misnamed", 1);
        const { warnings } = await accepted(pod!.push({ loss: "0.6" }, { container: "node" }));
        assert.match(warnings?.join() ?? "", /^not recorded: .*no container "pytorch".*node/);
      },
    );

    await t.step(
      "a rule that is invalid is reported, and the others do not stop the trial without it",
      async () => {
        const invalid = { name: "loss", value: "0.5", comparison: "above" };
        const rules = [invalid, lossAbove("0.5")];
        const { pods: [pod] } = await begin("invalid", { spec: { earlyStoppingRules: rules } });
        assert.equal((await accepted(pod!.push({ loss: "0.6" }))).control, undefined);
        const about = { kind: "Trial", name: "invalid" };
        const [message = ""] = await eventsAbout(client, about, "RuleInvalid");
        assert.match(message, /earlyStoppingRules\[0\] \(loss\).*above/);
      },
    );

    await t.step(
      "a rule whose metric is never pushed is reported when the job has ended",
      async () => {
        const rules = [{ name: "accuracy", value: "0.5", comparison: "less" }, lossAbove("0.5")];
        const { pods: [pod] } = await begin("rules", { spec: { earlyStoppingRules: rules } });
        assert.equal((await accepted(pod!.push({ loss: "0.6" }))).control, undefined);
        const about = { kind: "Trial", name: "rules" };
        await endPods(client, "rules", "Succeeded");
        const [missing = ""] = await eventsAbout(client, about, "RuleMetricMissing");
        assert.match(missing, /accuracy/);
        await trainJobThat(client, "rules", "is over", (it) => isTrue(it, "Complete"));
      },
    );

    await t.step(
      "a template whose GJSON does not parse is reported with the position",
      async () => {
        await begin("unparsed", { spec: { successCondition: "status.conditions.#(type==" } });
        const about = { kind: "Trial", name: "unparsed" };
        const [message = ""] = await eventsAbout(client, about, "TrialTemplateInvalid");
        assert.match(message, /spec.successCondition: GJSON at character \d+/);
      },
    );

    await t.step(
      "a job that claims a Trial it was not made from is left alone and reported",
      async () => {
        const trial = await createTrial(client, "claimed", "idle", {
          spec: { earlyStoppingRules: [lossAbove("0.5")] },
        });
        await createTrialsJob(client, trial, { name: "impostor" });
        const about = { kind: "TrainJob", name: "impostor" };
        const [message = ""] = await eventsAbout(client, about, "TrialClaimRefused");
        assert.match(message, /must have the Trial's name/);
        const [pod] = await pushingPods(standalone, "impostor", 1);
        assert.equal(pod?.labels[LABELS.trial], undefined);
        assert.equal((await accepted(pod!.push({ loss: "9" }))).control, undefined);
        const { status } = await client.get(KINDS.trial, { namespace: "default", name: "claimed" });
        assert.equal(status?.conditions, undefined);
      },
    );

    await t.step(
      "of two Trials that claim one job neither is served, and both get an event",
      async () => {
        const first = await createTrial(client, "twice", "idle", {
          spec: { earlyStoppingRules: [lossAbove("0.5")] },
        });
        await createTrial(client, "twice-too", "idle", { spec: { runSpec: first.spec?.runSpec } });
        await createTrialsJob(client, first);
        for (const name of ["twice", "twice-too"]) {
          const [message = ""] = await eventsAbout(
            client,
            { kind: "Trial", name },
            "TrialClaimRefused",
          );
          assert.match(message, /"twice" and "twice-too" claim the same job/);
        }
        const [pod] = await pushingPods(standalone, "twice", 1);
        assert.equal((await accepted(pod!.push({ loss: "9" }))).control, undefined);
      },
    );

    await t.step("a job without a Trial is stopped by its annotation", async () => {
      const job = trainJob("annotated", "idle");
      const stopping = {
        objective: { name: "accuracy", type: "maximize" },
        rules: [{ name: "accuracy", value: "0.5", comparison: "less", startStep: 2 }],
      };
      job.metadata.annotations = {
        "trainer.kubeflow.org/early-stopping": JSON.stringify(stopping),
      };
      await client.create(KINDS.trainJob, job);
      const [pod] = await pushingPods(standalone, "annotated", 1);
      await accepted(pod!.push({ accuracy: "0.1" }));
      assert.equal((await accepted(pod!.push({ accuracy: "0.2" }))).control?.stop, true);
      await trainJobThat(
        client,
        "annotated",
        "is stopped",
        (it) => it.status?.state === "EarlyStopped",
      );
      await jobSetGone(client, "annotated");
      const about = { kind: "TrainJob", name: "annotated" };
      assert.equal((await eventsAbout(client, about, "EarlyStopped")).length, 1);
    });

    const own: Record<string, {
      annotations: Record<string, string>;
      losses: string[];
      want?: string;
    }> = {
      newest: {
        annotations: { [ANNOTATIONS.earlyStopping]: LOSS_ABOVE_10 },
        losses: ["3", "2", "7371555"],
        want: "loss 7371555 is greater than 10, at report 3",
      },
      best: {
        annotations: {
          [ANNOTATIONS.earlyStopping]: LOSS_ABOVE_10,
          [ANNOTATIONS.earlyStoppingCompare]: "best",
        },
        losses: ["3", "2", "7371555"],
      },
      lines: {
        annotations: { [ANNOTATIONS.stopWhen]: "loss > 10 after 4 reports\nloss is nan" },
        losses: ["99", "2", "NaN"],
        want: "loss is NaN, at report 3",
      },
    };
    for (const [name, { annotations, losses, want }] of Object.entries(own)) {
      await t.step(
        `a job's own rules ${want ? `stop it: ${want}` : "go by the best value"}`,
        async () => {
          const job = trainJob(name, "idle");
          job.metadata.annotations = annotations;
          const { metadata } = await client.create(KINDS.trainJob, job);
          const isJson = ANNOTATIONS.earlyStopping in annotations;
          assert.equal(
            metadata.annotations?.[ANNOTATIONS.earlyStoppingCompare],
            isJson ? annotations[ANNOTATIONS.earlyStoppingCompare] ?? "newest" : undefined,
          );
          const [pod] = await pushingPods(standalone, name, 1);
          const stops: (boolean | undefined)[] = [];
          for (const loss of losses) {
            stops.push((await accepted(pod!.push({ loss }))).control?.stop);
          }
          assert.deepEqual(stops, [undefined, undefined, want === undefined ? undefined : true]);
          if (want === undefined) return;
          const stopped = await trainJobThat(
            client,
            name,
            "is stopped",
            (it) => it.status?.state === "EarlyStopped",
          );
          const condition = stopped.status?.conditions?.find(({ type }) => type === "EarlyStopped");
          assert.equal(condition?.message, want);
        },
      );
    }
  }, { kubelet: false });
});
