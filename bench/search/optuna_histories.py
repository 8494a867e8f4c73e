"""Tells made-up histories of trials to Optuna, and writes at which of their reports it prunes."""

import json
import sys
import warnings

import optuna
from optuna.trial import TrialState

PRUNERS = {
    "median": optuna.pruners.MedianPruner,
    "asha": optuna.pruners.SuccessiveHalvingPruner,
}


def pruned_of(history):
    ((name, settings),) = history["pruner"].items()
    study = optuna.create_study(direction=history["direction"], pruner=PRUNERS[name](**settings))
    trials = [study.ask() for _ in range(history["trials"])]
    newest, over, pruned = {}, set(), []
    for index, event in enumerate(history["told"]):
        number = event["trial"]
        if number in over:
            continue
        trial = trials[number]
        if "end" in event:
            over.add(number)
            value = newest.get(number, float("nan"))
            if event["end"] == "failed" or value != value:
                study.tell(trial, state=TrialState.FAIL)
            else:
                study.tell(trial, value)
            continue
        newest[number] = float(event["value"])
        trial.report(newest[number], event["step"])
        if trial.should_prune():
            over.add(number)
            pruned.append(index)
            study.tell(trial, state=TrialState.PRUNED)
    return pruned


def main():
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    with open(sys.argv[1]) as file:
        histories = json.load(file)
    json.dump({"version": optuna.__version__, "pruned": [pruned_of(it) for it in histories]}, sys.stdout)


main()
