/** Tests of searches by Optuna: over jobs of a fake cluster, and over those of a `standalone`, where pods push. */
import assert from "node:assert/strict";
import { z } from "zod";
import { KATIB } from "../../crds/katib_names.ts";
import { KINDS } from "../../crds/kinds.ts";
import { run } from "../support/command.ts";
import { pythonEnvironment } from "../support/python_environment.ts";
import { shellRuntime, withStandalone } from "../support/standalone.ts";
import { testWith } from "../training/seen_training.ts";
import { CLIENT, SOURCES } from "./interpreter.ts";

const environment = await pythonEnvironment(
  "optuna==5.0.0",
  "kubernetes==35.0.0",
  "cmaes==0.13.1",
  "scipy==1.17.1",
);
const env = { PYTHONPATH: SOURCES, PYTHONDONTWRITEBYTECODE: "1" };

testWith(
  environment,
  "a study is told of jobs as Optuna means it, whatever happens",
  async (bin) => {
    const { code, stderr } = await run(`${bin}/python`, {
      args: ["-W", "error::ResourceWarning", "-m", "unittest", "tests.optuna_scenes"],
      cwd: CLIENT,
      env,
      timeoutMs: 400_000,
    });
    assert.equal(code, 0, stderr);
    assert.match(stderr, /^Ran [1-9]\d+ tests in .*\n\nOK\n$/m);
  },
);

/** What a pod trains: its loss falls towards a floor that its learning rate gives. */
const TRAINING = `
import math, milepost, os, time
rate = float(os.environ["LR"])
assert os.environ["KUBEFLOW_TRAINER_OPT_LR"] == os.environ["LR"]
with milepost.Run(total=20) as run:
    for step in range(1, 21):
        run.push(step=step, loss=abs(math.log10(rate) + 3) + 1 / step)
        time.sleep(0.12)
        if run.stop:
            break`;

/** The search of a user, with samplers of each kind; it prints what became of the trials. */
const SEARCHES = `
import json, sys, optuna, milepost.optuna
rates = [1e-5, 1e-4, 1e-3, 1e-2, 1e-1]
samplers = {
    "random": optuna.samplers.RandomSampler(seed=1),
    "grid": optuna.samplers.GridSampler({"lr": rates}, seed=1),
    "tpe": optuna.samplers.TPESampler(seed=1, n_startup_trials=2),
    "cmaes": optuna.samplers.CmaEsSampler(seed=1),
}
for name, sampler in samplers.items():
    pruner = optuna.pruners.SuccessiveHalvingPruner(min_resource=2, reduction_factor=2)
    study = optuna.create_study(study_name=name, sampler=sampler, pruner=pruner, storage=f"sqlite:///{sys.argv[1]}/{name}.db")
    milepost.optuna.optimize(
        study, job=f"{sys.argv[1]}/train.yaml", n_trials=5, parallel=3,
        space=lambda trial: {"LR": trial.suggest_float("lr", 1e-5, 1e-1, log=True)},
    )
    print(json.dumps({
        "search": f"{name}-{study.user_attrs['milepost:id']}",
        "trials": [
            {"job": it.user_attrs["milepost:job"], "state": it.state.name, "value": it.value, "rate": it.params["lr"],
             "steps": list(it.intermediate_values)}
            for it in study.trials
        ],
    }))`;

const searchSchema = z.object({
  search: z.string(),
  trials: z.array(z.object({
    job: z.string(),
    state: z.enum(["COMPLETE", "PRUNED"]),
    value: z.number(),
    rate: z.number(),
    steps: z.array(z.int()),
  })),
});

testWith(
  environment,
  "studies search over pods that train, and stop those that are not worth it",
  (bin) =>
    withStandalone(async ({ client, kubeconfig, folder }) => {
      const command =
        `PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=${SOURCES} python3 - <<'END'\n${TRAINING}\nEND`;
      await client.create(KINDS.clusterTrainingRuntime, shellRuntime("searched", command));
      await Deno.writeTextFile(
        `${folder}/train.yaml`,
        "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: mine}\n" +
          "spec: {runtimeRef: {name: searched}}\n",
      );
      const { code, stdout, stderr } = await run(`${bin}/python`, {
        args: ["-c", SEARCHES, folder],
        env: { ...env, KUBECONFIG: kubeconfig },
        timeoutMs: 240_000,
      });
      assert.equal(code, 0, stderr);
      const { items } = await client.list(KINDS.trainJob, { namespace: "default" });
      const searches = stdout.trim().split("\n").map((it) => searchSchema.parse(JSON.parse(it)));
      assert.equal(searches.length, 4);
      assert.equal(items.length, 20);
      for (const { search, trials } of searches) {
        const jobs = items.filter((it) => it.metadata.labels?.[KATIB.experimentLabel] === search);
        assert.deepEqual(
          jobs.map((it) => it.metadata.name ?? "").toSorted(),
          trials.map((it) => it.job).toSorted(),
        );
        for (const { job, state, value, rate, steps } of trials) {
          const status = jobs.find((it) => it.metadata.name === job)?.status;
          const last = steps.at(-1) ?? 0;
          assert.deepEqual(steps, Array.from({ length: last }, (_, index) => index + 1), job);
          assert.ok(Math.abs(value - (Math.abs(Math.log10(rate) + 3) + 1 / last)) < 1e-9, job);
          assert.equal(last === 20, state === "COMPLETE", job);
          assert.equal(status?.state, state === "COMPLETE" ? "Complete" : "EarlyStopped");
          if (state === "COMPLETE") continue;
          assert.equal(status?.stop?.reason, "Pruned");
          const said = new RegExp(`^SuccessiveHalvingPruner of Optuna: loss .* at step ${last}$`);
          assert.match(status?.stop?.message ?? "", said);
        }
      }
      const states = searches.flatMap(({ trials }) => trials.map((it) => it.state));
      assert.ok(states.includes("PRUNED") && states.includes("COMPLETE"), states.join());
    }),
);
