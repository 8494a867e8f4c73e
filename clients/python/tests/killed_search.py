"""Search in a process that ends itself, as if it was killed, before or after the n-th time of something that it does."""

import json
import os
import sys
from typing import Any

import optuna
from kubernetes import client

import milepost.optuna
from milepost.search.cluster import Cluster
from tests.optuna_scenes import JOB, SQLITE_WAITS, space
from tests.fake_cluster import TOKEN

# What is done to the study, to the storage and to the cluster, by the words of a point.
PLACES: dict[str, tuple[Any, str]] = {
    "ask": (optuna.Study, "ask"),
    "remember": (optuna.Trial, "set_user_attr"),
    "suggest": (optuna.Trial, "suggest_int"),
    "create": (Cluster, "create"),
    "report": (optuna.Trial, "report"),
    "judge": (optuna.Trial, "should_prune"),
    "stop": (Cluster, "stop"),
    "tell": (optuna.Study, "tell"),
}


def arm(when: str, place: str, count: int) -> None:
    """Has this process end before or after something is done for the n-th time."""
    owner, name = PLACES[place]
    done = getattr(owner, name)
    left = count

    def dying(*args: Any, **options: Any) -> Any:
        nonlocal left
        left -= 1
        if left == 0 and when == "before":
            os._exit(9)
        result = done(*args, **options)
        if left == 0:
            os._exit(9)
        return result

    setattr(owner, name, dying)


def main() -> None:
    its = json.loads(sys.argv[1])
    if its["point"]:
        arm(*its["point"])
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    configuration = client.Configuration(host=its["url"], api_key={"authorization": f"Bearer {TOKEN}"})
    configuration.ssl_ca_cert = its["ca"]
    study = optuna.create_study(
        study_name="killed", load_if_exists=True, storage=optuna.storages.RDBStorage(its["storage"], engine_kwargs=SQLITE_WAITS),
        sampler=optuna.samplers.RandomSampler(), pruner=optuna.pruners.SuccessiveHalvingPruner(min_resource=1, reduction_factor=3),
    )  # fmt: skip
    with open(its["told"], "a", encoding="utf-8") as told:
        milepost.optuna.optimize(
            study, job=JOB, space=space, n_trials=40, parallel=8, api=client.ApiClient(configuration), address=its["url"], ca=its["ca"],
            callbacks=[lambda _, trial: print(trial.number, trial.state.name, file=told, flush=True)],
        )  # fmt: skip


if __name__ == "__main__":
    main()
