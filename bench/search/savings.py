"""Searches for a learning rate of the digits by Optuna, whole and pruned, over jobs of a fake cluster. Prints a line of JSON for each."""

import json
import sys
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import optuna

import milepost.optuna
from tests.fake_cluster import FakeCluster
from tests.optuna_scenes import JOB, api_of, in_step

TRIALS, PARALLEL, EPOCHS = 40, 8, 81
PRUNERS = {
    "full": optuna.pruners.NopPruner,
    "asha": lambda: optuna.pruners.SuccessiveHalvingPruner(min_resource=1, reduction_factor=3),
    "hyperband": lambda: optuna.pruners.HyperbandPruner(min_resource=1, max_resource=EPOCHS, reduction_factor=3),
}
rows = [[int(figure, 17) for figure in line.strip()] for line in open(sys.argv[1], encoding="utf-8")]
images = np.array([[*(value / 16 for value in row[:64]), 1.0] for row in rows])
labels = np.eye(10)[[row[64] for row in rows]]


@cache
def losses(rate: float) -> list[float]:
    """The losses of examples/training/train.py after each epoch, on one node."""
    weights, found = np.zeros((10, 65)), []
    for _ in range(EPOCHS):
        scores = images @ weights.T
        scores -= scores.max(axis=1, keepdims=True)
        likely = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        found.append(float(-np.log(np.maximum((likely * labels).sum(axis=1), 1e-300)).mean()))
        weights -= rate * (likely - labels).T @ images / len(images)
    return found


def search(seed: int, pruner: str) -> dict[str, object]:
    """Searches once. Returns the best loss, and the epochs that were judged on the way."""
    with tempfile.TemporaryDirectory() as folder:
        cluster = FakeCluster(Path(folder), lambda its: [(at + 1, repr(loss)) for at, loss in enumerate(losses(float(its["LR"])))], 0.001)
        try:
            sampler = optuna.samplers.RandomSampler(seed=seed)
            study = optuna.create_study(study_name=f"digits-{seed}", sampler=sampler, pruner=PRUNERS[pruner]())
            with in_step(cluster), api_of(cluster) as api:
                milepost.optuna.optimize(
                    study, job=JOB, n_trials=TRIALS, parallel=PARALLEL, api=api, address=cluster.url, ca=str(cluster.ca),
                    space=lambda trial: {"LR": trial.suggest_float("lr", 1e-3, 1.0, log=True)},
                )  # fmt: skip
        finally:
            cluster.stop()
    epochs = sum(len(trial.intermediate_values) for trial in study.trials)
    return {"seed": seed, "pruner": pruner, "loss": study.best_value, "epochs": epochs}


optuna.logging.set_verbosity(optuna.logging.ERROR)
for number in range(int(sys.argv[2]), int(sys.argv[3])):
    for name in PRUNERS:
        print(json.dumps(search(number, name)), flush=True)
